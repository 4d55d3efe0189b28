//! The longest inputs, of the shapes that could cost most: each within the time that one
//! input may take, which the checks measure. What is printed is the time of all checks together.
//!
//! A search begins with short inputs and seldom comes to long ones; these are given.
#![expect(clippy::print_stdout, reason = "printing is what this program does")]

use std::time::Instant;

use acp_core::schema::generated::{V1, V2};
use acp_core::schema::table::Schema;
use acp_fuzz::{MAX_INPUT, type_index};

/// `unit` as often as it fits, between `head` and `tail`.
fn filled(head: &str, unit: &str, tail: &str) -> String {
    let room = MAX_INPUT - 4 - head.len() - tail.len();
    format!("{head}{}{tail}", unit.repeat(room / unit.len()))
}

/// Units that differ in a number.
fn numbered(head: &str, unit: impl Fn(usize) -> String, tail: &str) -> String {
    let mut text = head.to_owned();
    for number in 0.. {
        let next = unit(number);
        if text.len() + next.len() + tail.len() + 4 > MAX_INPUT {
            break;
        }
        text += &next;
    }
    text + tail
}

fn streams() -> Vec<(&'static str, String)> {
    vec![
        ("newlines", filled("", "\n", "")),
        ("carriage returns", filled("", "\r", "")),
        ("one string", filled("{\"method\":\"", "x", "\"}")),
        ("escapes", filled("{\"method\":\"", "\\u0041", "\"}")),
        ("backslashes", filled("{\"method\":\"", "\\\\", "\"}")),
        ("open brackets", filled("{\"id\":7,\"method\":\"m\",\"params\":", "[", "")),
        ("open objects", filled("", "{\"a\":", "")),
        ("deep and whole", filled("", &("[".repeat(1025) + &"]".repeat(1025) + "\n"), "")),
        ("numbers", filled("{\"method\":\"m\",\"params\":[", "1e5,", "1]}")),
        ("one number", filled("{\"id\":", "9", ",\"method\":\"m\"}")),
        ("unknown members", numbered("{", |at| format!("\"m{at}\":1,"), "\"method\":\"m\"}")),
        ("repeated members", filled("{", "\"id\":1,", "\"method\":\"m\"}")),
        ("small notifications", filled("", "{\"method\":\"m\"}\n", "")),
        ("requests with one id", filled("", "{\"id\":1,\"method\":\"m\"}\n", "")),
        ("requests", numbered("", |at| format!("{{\"id\":{at},\"method\":\"m\"}}\n"), "")),
        (
            "requests and cancellations",
            filled(
                "",
                "{\"id\":1,\"method\":\"m\"}\n{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":1}}\n",
                "",
            ),
        ),
        ("answers to nobody", filled("", "{\"id\":9,\"result\":1}\n", "")),
        ("batch of requests", filled("[", "{\"id\":1,\"method\":\"m\"},", "1]")),
        ("batches", filled("", "[{\"id\":1,\"method\":\"m\"},{\"method\":\"n\"},1]\n", "")),
        ("garbage", filled("", "x\n", "")),
        ("broken answers", filled("", "{\"id\":0,\"result\":NaN}\n", "")),
    ]
}

fn values() -> Vec<(&'static str, &'static str, String)> {
    let members = |head: &str| numbered(head, |at| format!("\"m{at}\":{at},"), "\"z\":1}");
    vec![
        ("text", "ContentBlock", filled("{\"type\":\"text\",\"text\":\"", "é", "\"}")),
        (
            "escapes",
            "ContentBlock",
            filled("{\"type\":\"text\",\"text\":\"", "\\ud83d\\ude00", "\"}"),
        ),
        ("unknown members", "TextContent", members("{\"text\":\"x\",")),
        (
            "metadata",
            "TextContent",
            members("{\"text\":\"x\",\"_meta\":{").replace("\"z\":1}", "\"z\":1}}"),
        ),
        ("repeated members", "TextContent", filled("{", "\"text\":\"x\",", "\"text\":\"y\"}")),
        (
            "late discriminator",
            "ContentBlock",
            filled("{\"text\":\"x\",\"l\":[", "{},", "1],\"type\":\"text\"}"),
        ),
        (
            "repeated discriminator",
            "ContentBlock",
            filled("{\"text\":\"x\",", "\"type\":\"image\",\"type\":\"text\",", "\"a\":1}"),
        ),
        (
            "list of records",
            "PromptRequest",
            filled(
                "{\"sessionId\":\"s\",\"prompt\":[",
                "{\"type\":\"text\",\"text\":\"x\"},",
                "{\"type\":\"text\",\"text\":\"y\"}]}",
            ),
        ),
        (
            "list of bad items",
            "PromptRequest",
            filled("{\"sessionId\":\"s\",\"prompt\":[", "1,", "1]}"),
        ),
        ("unknown variant", "ContentBlock", members("{\"type\":\"_x\",")),
    ]
}

fn report(target: &str, name: &str, check: impl Fn()) {
    let start = Instant::now();
    check();
    println!("{target:<12}{name:<28}{:>6.0} ms", start.elapsed().as_secs_f64() * 1e3);
}

fn main() {
    for (name, stream) in streams() {
        let input = |header: [u8; 4]| [&header, stream.as_bytes()].concat();
        let (short, long) = (input([64, 0, 0, 0]), input([0xFF, 0xFF, 0, 0]));
        report("split", name, || {
            acp_fuzz::split(&short);
            acp_fuzz::split(&long);
        });
        for (header, role) in [([0, 0, 255, 0], "agent"), ([0x21, 0, 255, 0], "client")] {
            let data = input(header);
            report("connection", &format!("{name}, {role}"), || acp_fuzz::connection(&data));
        }
    }
    let schemas: [(&str, &Schema); 2] = [("decode_v1", &V1), ("decode_v2", &V2)];
    for (target, schema) in schemas {
        for (name, ty, text) in values() {
            let header = type_index(schema, ty);
            assert!(header.is_some(), "{ty} is no type");
            let data = [&header.unwrap_or_default(), text.as_bytes()].concat();
            report(target, name, || acp_fuzz::decode(schema, &data));
        }
    }
}
