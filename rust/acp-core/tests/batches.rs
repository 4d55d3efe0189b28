//! Arrays of messages, and the arrays of replies to them.

mod support;

use acp_core::options::{BatchPolicy, Options, Role};
use support::{Side, error, invalid, result};

fn request(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)
}

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"_x/note"}"#;

fn batch(entries: &[&str]) -> String {
    format!("[{}]", entries.join(","))
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| line.clone() + "\n").collect()
}

/// C-043, C-044
#[test]
fn an_array_is_one_frame_whose_entries_are_read_in_order() {
    for mut side in [Side::agent(), Side::ready(Role::Agent)] {
        let before = side.connection.counters().frames;
        let line = batch(&[&request("2"), NOTE, &request("\"1\"")]);
        assert_eq!(
            side.line(format!(" {line} ")),
            ["request id=2 m", "batched notification _x/note", "request id=\"1\" m"]
        );
        assert_eq!(side.connection.counters().frames, before + 1);
    }
}

/// C-045
#[test]
fn an_empty_array_is_answered_with_one_error_object() {
    for line in ["[]", " [ ] "] {
        let mut side = Side::agent();
        assert_eq!(side.line(line), ["rejected batch answered"]);
        assert_eq!(side.sent(), invalid("null") + "\n");
        let mut side = Side::client();
        assert_eq!(side.line(line), ["rejected batch silent"]);
        assert_eq!(side.sent(), "");
    }
}

/// C-046
#[test]
fn an_array_that_is_no_json_is_one_parse_error_and_none_of_it_is_served() {
    let first = request("1");
    for line in [
        format!("[{first},"),
        format!("[{first},]"),
        format!("[{first}"),
        format!("[{first} {first}]"),
        format!("[{first}]]"),
        format!("[,{first}]"),
        format!("[{first},{{\"a\":01}}]"),
        format!("[{first}}}"),
    ] {
        let mut side = Side::agent();
        assert_eq!(side.line(&line), ["rejected parse answered"], "{line}");
        assert_eq!(side.sent(), error("null", -32700, "Parse error") + "\n");
        assert_eq!(side.connection.in_flight(), 0);
        assert!(side.is_alive());
    }
}

/// C-047, C-050
#[test]
fn an_invalid_entry_has_an_error_of_its_own() {
    let mut side = Side::agent();
    assert_eq!(side.line("[1,2,3]"), ["rejected envelope answered"; 3]);
    assert_eq!(side.sent(), format!("[{}]\n", vec![invalid("null"); 3].join(",")));
    let bad = [
        "1",
        "{}",
        "[]",
        "[[{\"id\":1,\"method\":\"m\"}]]",
        r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
        r#"{"id":1,"id":1,"method":"m"}"#,
        r#"{"id":1.5,"method":"m"}"#,
    ];
    for entry in bad {
        let mut side = Side::agent();
        assert_eq!(side.line(batch(&[&request("1"), entry, &request("2")])).len(), 3, "{entry}");
        assert!(side.answer(1, "2"));
        assert!(side.answer(0, "1"));
        let replies = [result("1", "1"), invalid("null"), result("2", "2")];
        assert_eq!(side.sent(), format!("[{}]\n", replies.join(",")), "{entry}");
    }
}

/// C-048
#[test]
fn a_malformed_response_has_no_place_among_the_replies() {
    let mut side = Side::agent();
    let garbage = r#"{"jsonrpc":"2.0","id":7,"result":1,"error":2}"#;
    let seen = side.line(batch(&[garbage, &request("1"), r#"{"error":1}"#]));
    assert_eq!(seen, ["rejected response silent", "request id=1 m", "rejected response silent"]);
    side.answer(0, "1");
    assert_eq!(side.sent(), format!("[{}]\n", result("1", "1")));
}

/// C-049
#[test]
fn responses_in_an_array_settle_our_requests() {
    let mut side = Side::client();
    side.ask("a");
    side.ask("b");
    side.ask("c");
    side.sent();
    let line = batch(&[
        &error("1", -32000, "no"),
        NOTE,
        &result("0", "{}"),
        r#"{"id":2,"result":1,"error":2}"#,
    ]);
    assert_eq!(
        side.line(line),
        [
            "response 1 b error -32000 no",
            "batched notification _x/note",
            "response 0 a result {}",
            "response 2 c malformed"
        ]
    );
    side.connection.handled(side.tokens[0]);
    assert_eq!(side.sent(), "");
    assert_eq!(side.connection.open_batches(), 0);
}

/// C-053
#[test]
fn replies_leave_together_in_the_order_of_their_requests() {
    let mut side = Side::agent();
    side.line(batch(&[&request("1"), &request("2"), &request("3")]));
    side.answer(2, "\"third\"");
    side.fail(0, 5);
    assert_eq!(side.sent(), "");
    side.answer(1, "\"second\"");
    let replies = [error("1", 5, "no"), result("2", "\"second\""), result("3", "\"third\"")];
    assert_eq!(side.sent(), format!("[{}]\n", replies.join(",")));
}

/// C-054
#[test]
fn replies_wait_for_the_notifications_of_their_batch() {
    let mut side = Side::agent();
    side.line(batch(&[NOTE, &request("1"), NOTE]));
    side.answer(1, "1");
    side.connection.handled(side.tokens[2]);
    assert_eq!(side.sent(), "");
    side.connection.handled(side.tokens[2]);
    assert_eq!(side.sent(), "", "one notification is not handled twice");
    side.connection.handled(side.tokens[0]);
    assert_eq!(side.sent(), format!("[{}]\n", result("1", "1")));
}

/// C-055
#[test]
fn only_what_is_answered_makes_an_array() {
    let mut side = Side::agent();
    side.line(batch(&[&request("1")]));
    side.answer(0, "1");
    assert_eq!(side.sent(), format!("[{}]\n", result("1", "1")));
    side.line(batch(&[NOTE, r#"{"id":1,"result":1}"#, NOTE]));
    side.connection.handled(side.tokens[1]);
    side.connection.handled(side.tokens[2]);
    side.line(batch(&[r#"{"method":"$/cancel_request","params":{"requestId":1}}"#]));
    assert_eq!(side.sent(), "");
    assert_eq!(side.connection.open_batches(), 0);
}

/// C-056
#[test]
fn a_mixed_array_is_answered_in_its_order() {
    let mut side = Side::agent();
    let line = concat!(
        r#"[{"jsonrpc":"2.0","id":"a","method":"_x/echo","params":{}},7,"#,
        r#"{"jsonrpc":"2.0","method":"_x/note"},{"jsonrpc":"2.0","id":"b","method":"_x/none"}]"#
    );
    assert_eq!(
        side.line(line),
        [
            "request id=\"a\" _x/echo {}",
            "rejected envelope answered",
            "batched notification _x/note",
            "request id=\"b\" _x/none"
        ]
    );
    side.connection.respond_error(side.tokens[2], -32601, "Method not found", Some("\"_x/none\""));
    side.connection.handled(side.tokens[1]);
    side.answer(0, "{}");
    let none = r#"{"jsonrpc":"2.0","id":"b","error":{"code":-32601,"message":"Method not found","data":"_x/none"}}"#;
    assert_eq!(side.sent(), format!("[{},{},{none}]\n", result("\"a\"", "{}"), invalid("null")));
}

/// C-057
#[test]
fn equal_ids_have_replies_of_their_own() {
    let mut side = Side::agent();
    side.line(batch(&[&request("1"), &request("1")]));
    side.line(batch(&[&request("1")]));
    side.answer(2, "3");
    assert_eq!(side.sent(), format!("[{}]\n", result("1", "3")));
    side.answer(1, "2");
    side.answer(0, "1");
    assert_eq!(side.sent(), format!("[{},{}]\n", result("1", "1"), result("1", "2")));
}

/// C-058
#[test]
fn an_incomplete_batch_holds_up_nothing_else() {
    let mut side = Side::agent();
    side.line(batch(&[&request("1"), &request("2")]));
    side.line(request("3"));
    side.line(batch(&[&request("4")]));
    side.answer(0, "1");
    side.answer(2, "3");
    side.answer(3, "4");
    side.tell("n", "{}");
    assert_eq!(
        side.sent(),
        lines(&[
            result("3", "3"),
            format!("[{}]", result("4", "4")),
            r#"{"jsonrpc":"2.0","method":"n","params":{}}"#.to_owned()
        ])
    );
    side.answer(1, "2");
    assert_eq!(side.sent(), format!("[{},{}]\n", result("1", "1"), result("2", "2")));
}

/// C-059
#[test]
fn a_second_answer_to_an_entry_is_ignored_before_and_after_the_array_left() {
    let mut side = Side::agent();
    side.line(batch(&[&request("1"), &request("2")]));
    assert!(side.answer(0, "1"));
    assert!(!side.answer(0, "\"again\""));
    assert!(side.answer(1, "2"));
    assert!(!side.fail(0, 1));
    assert!(!side.fail(1, 1));
    assert_eq!(side.sent(), format!("[{},{}]\n", result("1", "1"), result("2", "2")));
}

/// C-060, C-061: what the dispatcher answers for a handler fills the entry's place; nothing fills it twice.
#[test]
fn an_answer_that_cannot_be_written_leaves_the_entry_open() {
    let mut side = Side::agent();
    side.line(batch(&[&request("1"), &request("2")]));
    let broken = |out: &mut Vec<u8>| {
        out.push(b'{');
        Err("cannot be written")
    };
    assert!(side.connection.respond(side.tokens[0], broken).is_err());
    side.answer(1, "2");
    assert_eq!(side.sent(), "");
    assert!(side.fail(0, -32603));
    assert_eq!(side.sent(), format!("[{},{}]\n", error("1", -32603, "no"), result("2", "2")));
}

/// C-062, C-065
#[test]
fn an_entry_may_be_cancelled_by_a_later_one() {
    let mut side = Side::agent();
    let cancel = r#"{"method":"$/cancel_request","params":{"requestId":1}}"#;
    let seen = side.line(batch(&[cancel, &request("1"), cancel, &request("2")]));
    assert_eq!(seen, ["request id=1 m", "cancelled id=1", "request id=2 m"]);
    side.fail(0, -32800);
    side.answer(1, "2");
    assert_eq!(side.sent(), format!("[{},{}]\n", error("1", -32800, "no"), result("2", "2")));
}

/// C-063
#[test]
fn an_incomplete_array_is_not_sent_at_the_end() {
    let mut side = Side::agent();
    side.line(batch(&[&request("1"), &request("2")]));
    side.answer(0, "1");
    side.end();
    assert_eq!(side.sent(), "");
}

/// C-066
#[test]
fn requests_of_ours_never_leave_in_an_array() {
    let mut side = Side::agent();
    side.line(batch(&[&request("1")]));
    side.ask("a");
    side.tell("n", "{}");
    side.answer(0, "1");
    let sent = side.sent();
    let arrays: Vec<_> = sent.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(arrays, [format!("[{}]", result("1", "1"))]);
    assert_eq!(sent.lines().count(), 3);
}

/// C-073
#[test]
fn where_no_batches_are_accepted_any_array_is_refused_whole() {
    let refusal = concat!(
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request","#,
        r#""data":"JSON-RPC batches are not supported; send each message individually"}}"#,
        "\n"
    );
    for line in [
        "[]".to_owned(),
        "[1]".to_owned(),
        batch(&[NOTE]),
        batch(&[&request("1")]),
        batch(&[&result("0", "1")]),
    ] {
        let reject =
            |role| Side::new(Options { batches: BatchPolicy::Reject, ..Options::new(role) });
        let mut side = reject(Role::Agent);
        side.ask("a");
        side.sent();
        assert_eq!(side.line(&line), ["rejected batch answered"], "{line}");
        assert_eq!(side.sent(), refusal);
        assert_eq!(side.connection.pending().count(), 1);
        let mut side = reject(Role::Client);
        assert_eq!(side.line(&line), ["rejected batch silent"]);
        assert_eq!(side.sent(), "");
    }
}

/// C-074
#[test]
fn a_refused_array_leaves_the_connection_usable() {
    let mut side = Side::new(Options {
        batches: BatchPolicy::Reject,
        require_initialize: true,
        ..Options::new(Role::Agent)
    });
    let initialize = r#"{"id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    side.line(batch(&[initialize]));
    assert!(!side.connection.initialized());
    side.line(initialize);
    side.answer(0, "{}");
    side.line(batch(&[&request("1")]));
    assert!(side.connection.initialized());
    assert!(side.is_alive());
}

#[test]
fn an_array_of_too_many_entries_is_refused_with_one_error() {
    for (role, replies, event) in [
        (Role::Agent, invalid("null") + "\n", "rejected batch answered"),
        (Role::Client, String::new(), "rejected batch silent"),
    ] {
        let mut side = Side::new(Options::new(role));
        let entry = request("1");
        assert_eq!(side.line(batch(&vec![&*entry; 1025])), [event]);
        assert_eq!(side.sent(), replies);
        assert_eq!(side.line(batch(&vec![&*entry; 1024])).len(), 1024);
        assert_eq!(side.connection.in_flight(), 1024);
    }
}

#[test]
fn entries_that_are_nested_too_deep_are_answered_each() {
    let deep = "[".repeat(1025) + &"]".repeat(1025);
    let long = |rest: &str| format!(r#"{{"params":{deep}{rest}}}"#);
    let entries = [
        request("1"),
        long(r#", "method":"m","id":"é""#),
        long(r#","method":"m""#),
        long(r#","method":"m","id":{}"#),
        long(r#","id":0,"result":1"#),
        format!("[{deep}]"),
        request("2"),
    ];
    let mut side = Side::agent();
    side.ask("a");
    side.sent();
    let line = format!("[{}]", entries.join(" , "));
    assert_eq!(
        side.line(&line),
        [
            "request id=1 m",
            "rejected depth answered",
            "rejected depth silent",
            "rejected depth answered",
            "response 0 a malformed",
            "rejected depth answered",
            "request id=2 m",
        ]
    );
    side.answer(0, "1");
    side.answer(1, "2");
    let replies =
        [result("1", "1"), invalid("\"é\""), invalid("null"), invalid("null"), result("2", "2")];
    assert_eq!(side.sent(), format!("[{}]\n", replies.join(",")));
    // Without their end, neither the entry nor the array can be told from what follows.
    let bottomless = format!("[{},{}", request("1"), "[".repeat(1025));
    assert_eq!(side.line(bottomless), ["rejected depth answered"]);
    assert_eq!(side.line(format!("[{},{deep}", request("1"))), ["rejected parse answered"]);
    let replies = [invalid("null"), error("null", -32700, "Parse error")];
    assert_eq!(side.sent(), lines(&replies));
}

#[test]
fn a_client_gives_malformed_entries_no_place() {
    let mut side = Side::client();
    let seen = side.line(batch(&["1", &request("1"), "{}", r#"{"id":1.5,"method":"m"}"#]));
    assert_eq!(seen[0], "rejected envelope silent");
    side.answer(0, "1");
    assert_eq!(side.sent(), format!("[{}]\n", result("1", "1")));
    side.line("[1,2]");
    assert_eq!(side.sent(), "");
    assert_eq!(side.connection.open_batches(), 0);
}

#[test]
fn answers_that_were_written_over_several_lines_leave_on_one() {
    let mut side = Side::agent();
    side.frame(format!("[\n{},\n{}\n]\n", request("1"), request("2")));
    side.answer(0, "{\n}");
    side.answer(1, "[\n]");
    assert_eq!(side.sent(), format!("[{},{}]\n", result("1", "{ }"), result("2", "[ ]")));
}

#[test]
fn what_replies_take_is_told_until_their_array_is_complete_or_nobody_takes_it() {
    let mut side = Side::agent();
    side.line(batch(&[&request("1"), &request("2"), &request("3")]));
    side.line(batch(&[&request("4"), NOTE]));
    assert_eq!(side.connection.held_replies(), 0);
    side.answer(1, "\"0123456789\"");
    let one = side.connection.held_replies();
    assert!(one > result("2", "\"0123456789\"").len());
    side.answer(2, "3");
    side.answer(3, "4");
    assert!(side.connection.held_replies() > one);
    side.answer(0, "1");
    assert_eq!(side.sent().matches('\n').count(), 1);
    // Of the other array the notification is not handled yet.
    assert!(side.connection.held_replies() > 0);
    side.connection.abandon_output();
    assert_eq!((side.connection.held_replies(), side.connection.open_batches()), (0, 0));
    side.line(batch(&[&request("5")]));
    assert_eq!(side.connection.open_batches(), 1);
}
