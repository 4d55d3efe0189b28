//! From frames to messages: classification, ids, params, responses, errors.

mod support;

use std::convert::Infallible;

use acp_core::event::{Event, Outcome, Reason};
use acp_core::options::{Options, Role};
use support::{Side, error, invalid, result};

/// C-012
#[test]
fn json_that_is_no_envelope_is_an_invalid_request_without_data() {
    for line in [
        "17",
        "\"x\"",
        "null",
        "true",
        "{}",
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
        r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#,
        r#"{"jsonrpc":null,"id":1,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":5}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":true}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","result":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","error":null}"#,
        r#"{"jsonrpc":"2.0","method":null}"#,
        r#"{"params":{}}"#,
    ] {
        let mut side = Side::agent();
        assert_eq!(side.line(line), ["rejected envelope answered"], "{line}");
        assert_eq!(side.sent(), invalid("null") + "\n");
        assert!(side.is_alive());
        let mut side = Side::client();
        assert_eq!(side.line(line), ["rejected envelope silent"], "{line}");
        assert_eq!(side.sent(), "");
    }
}

/// C-011: a reply, never with the line in it.
#[test]
fn text_that_is_no_json_is_a_parse_error_without_data() {
    for line in
        ["{oops", "Loaded credentials.", "\x1b]0;title\x07", "[1,", "{\"a\":NaN}", "1 2", "'x'"]
    {
        let mut side = Side::agent();
        assert_eq!(side.line(line), ["rejected parse answered"], "{line}");
        assert_eq!(side.sent(), error("null", -32700, "Parse error") + "\n");
        assert!(side.is_alive());
        let mut side = Side::client();
        assert_eq!(side.line(line), ["rejected parse silent"], "{line}");
        assert_eq!(side.sent(), "");
    }
}

/// C-013
#[test]
fn a_method_with_an_id_is_a_request_and_without_one_a_notification() {
    let mut side = Side::agent();
    assert_eq!(side.line(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#), ["request id=1 m"]);
    assert_eq!(side.line(r#"{"method":"m","id":null}"#), ["request id=null m"]);
    assert_eq!(side.line(r#"{"jsonrpc":"2.0","method":"m"}"#), ["notification m"]);
    assert_eq!(side.sent(), "");
    let counters = side.connection.counters();
    assert_eq!((counters.frames, counters.requests, counters.notifications), (3, 2, 1));
}

/// C-013
#[test]
fn an_id_with_a_result_or_an_error_is_a_response() {
    let mut side = Side::client();
    side.ask("a");
    side.ask("b");
    assert_eq!(side.line(r#"{"id":1,"result":null}"#), ["response 1 b result null"]);
    let line =
        r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"n\u006f","data":null}}"#;
    assert_eq!(side.line(line), ["response 0 a error -32000 no data=null"]);
    assert_eq!(side.connection.pending().count(), 0);
}

/// C-014
#[test]
fn what_is_shaped_like_a_response_and_is_none_of_ours_gets_silence() {
    for line in [
        r#"{"jsonrpc":"2.0","id":5,"result":1,"error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":{},"result":1}"#,
        r#"{"jsonrpc":"2.0","id":true,"result":1}"#,
        r#"{"jsonrpc":"2.0","result":1}"#,
        r#"{"jsonrpc":"2.0","error":"boom"}"#,
        r#"{"jsonrpc":"2.0","id":5,"error":"boom"}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
        r#"{"jsonrpc":"1.0","id":5,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":1,"result":2}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":1,"params":7}"#,
    ] {
        for role in [Role::Agent, Role::Client] {
            let mut side = Side::new(Options::new(role));
            side.ask("a");
            side.sent();
            // An error without an id is told as one: the peer could not read something of ours.
            let names_none = line.contains(r#""id":null,"error":{"code""#);
            let reason = if names_none { "error" } else { "response" };
            assert_eq!(side.line(line), [format!("rejected {reason} silent")], "{line}");
            assert_eq!(side.sent(), "");
            assert_eq!(side.connection.pending().count(), 1);
        }
    }
}

/// C-014, C-015: the caller of a malformed answer is told, and nobody else is.
#[test]
fn a_malformed_answer_to_a_request_of_ours_fails_its_caller_only() {
    for answer in [
        r#""error":"boom""#,
        r#""error":{}"#,
        r#""error":{"code":1}"#,
        r#""error":{"code":"x","message":"m"}"#,
        r#""error":{"code":1,"message":5}"#,
        r#""error":{"code":1.0,"message":"m"}"#,
        r#""error":{"code":2147483648,"message":"m"}"#,
        r#""error":null"#,
        r#""result":1,"error":{"code":1,"message":"m"}"#,
        r#""result":null,"error":{"code":1,"message":"m"}"#,
        r#""result":1,"result":1"#,
        r#""result":1,"jsonrpc":"1.0""#,
        r#""result":1,"id":1"#,
        r#""x":1"#,
    ] {
        for role in [Role::Agent, Role::Client] {
            let mut side = Side::new(Options::new(role));
            side.ask("a");
            side.ask("b");
            side.sent();
            let line = format!(r#"{{"id":1,{answer}}}"#);
            assert_eq!(side.line(&line), ["response 1 b malformed"], "{line}");
            assert_eq!(side.line(r#"{"id":0,"result":"A"}"#), ["response 0 a result \"A\""]);
            assert_eq!(side.sent(), "");
            assert_eq!(side.connection.counters().malformed_responses, 1);
        }
    }
}

/// C-015
#[test]
fn a_result_beside_a_null_error_is_a_result() {
    let mut side = Side::client();
    side.ask("a");
    let line = r#"{"id":0,"error":null,"result":{"x":1}}"#;
    assert_eq!(side.line(line), ["response 0 a result {\"x\":1}"]);
}

#[test]
fn an_answer_that_is_broken_further_in_fails_its_caller() {
    for role in [Role::Agent, Role::Client] {
        let mut side = Side::new(Options::new(role));
        side.ask("a");
        side.ask("b");
        side.sent();
        let line = r#"{"jsonrpc":"2.0","id":0,"result":{"score":NaN,"t":"\x"}}"#;
        assert_eq!(side.line(line), ["response 0 a malformed"]);
        assert_eq!(side.sent(), "");
        // Cut off, it could be anything.
        let seen = side.line(r#"{"jsonrpc":"2.0","id":1,"result":{"score":NaN"#);
        assert!(seen[0].starts_with("rejected parse"), "{seen:?}");
        assert_eq!(side.connection.pending().collect::<Vec<_>>(), [(1, "b")]);
    }
}

/// C-016
#[test]
fn unknown_members_of_the_envelope_are_dropped() {
    let mut side = Side::agent();
    let line = r#"{"jsonrpc":"2.0","extra":{"id":9},"id":1,"method":"m","params":{"id":2},"x":null,"x":1}"#;
    assert_eq!(side.line(line), ["request id=1 m {\"id\":2}"]);
}

/// C-016
#[test]
fn no_data_and_null_data_of_an_error_are_told_apart_and_its_text_is_kept() {
    let mut side = Side::client();
    for raw in [
        r#"{"code":1,"message":"m"}"#,
        r#"{"code":-2147483648,"more":[1],"message":"m","data":null}"#,
        r#"{"code":5,"code":2147483647,"message":"m","data":{ "a" : 1 }}"#,
    ] {
        side.ask("a");
        let mut kept = None;
        let line = format!("{{\"id\":{},\"error\":{raw}}}\n", side.connection.counters().responses);
        side.connection.receive(line.as_bytes(), &mut |event| {
            if let Event::Response { outcome: Outcome::Error { code, data, raw, .. }, .. } = event {
                kept = Some((code, data.map(str::to_owned), raw.to_owned()));
            }
        });
        let (code, data, kept) = kept.expect("an error");
        assert_eq!(kept, raw);
        assert_eq!(data.is_some(), raw.contains("data"));
        assert_ne!(code, 5);
    }
}

/// C-018
#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let mut side = Side::agent();
    side.line(r#"{"id":"q","method":"m"}"#);
    let broken = |out: &mut Vec<u8>| {
        out.extend_from_slice(b"{\"half");
        Err("cannot be written")
    };
    assert!(side.connection.respond(side.tokens[0], broken).is_err());
    let broken = |out: &mut Vec<u8>| {
        out.extend_from_slice(b"{\"half");
        Err::<bool, _>("cannot be written")
    };
    assert!(side.connection.request("r", broken).is_err());
    assert!(side.connection.notify("n", broken).is_err());
    assert_eq!(side.sent(), "");
    assert_eq!(side.connection.in_flight(), 1);
    assert_eq!(side.ask("r"), 0, "no id was used");
    assert!(side.fail(0, -32603));
    assert_eq!(
        side.sent(),
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"r\"}}\n{}\n",
            error("\"q\"", -32603, "no")
        )
    );
}

/// C-019, C-021
#[test]
fn ids_come_back_as_they_were() {
    for id in [
        "0",
        "-5",
        "9223372036854775807",
        "-9223372036854775808",
        "\"\"",
        "\"1\"",
        "\"é\u{1F600}\"",
        "\"a\\\"b\\\\\\n\\u0001\"",
        "\"\\ud800\"",
        "null",
    ] {
        let mut side = Side::agent();
        assert_eq!(
            side.line(format!(r#"{{"id":{id},"method":"m"}}"#)),
            [format!("request id={id} m")]
        );
        side.answer(0, "{}");
        assert_eq!(side.sent(), result(id, "{}") + "\n");
    }
    let long = format!("\"{}\"", "x".repeat(100_000));
    let mut side = Side::agent();
    side.line(format!(r#"{{"id":{long},"method":"m"}}"#));
    side.fail(0, 1);
    assert_eq!(side.sent(), error(&long, 1, "no") + "\n");
}

/// C-020
#[test]
fn what_is_no_id_is_refused_with_null() {
    for id in [
        "1.5",
        "1e3",
        "1.0",
        "-0",
        "9223372036854775808",
        "-9223372036854775809",
        "true",
        "false",
        "[1]",
        "{}",
        "123456789012345678901234567890",
    ] {
        let mut side = Side::agent();
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        assert_eq!(side.line(&line), ["rejected id answered"], "{line}");
        assert_eq!(side.sent(), invalid("null") + "\n");
        assert_eq!(side.connection.in_flight(), 0);
        assert!(side.is_alive());
        let mut side = Side::client();
        assert_eq!(side.line(&line), ["rejected id silent"]);
        assert_eq!(side.sent(), "");
    }
}

/// C-019: answers with neighbouring, equal-looking or foreign ids settle nothing.
#[test]
fn a_forged_answer_settles_no_request() {
    let mut side = Side::client();
    for _ in 0..3 {
        side.ask("a");
    }
    for id in ["\"0\"", "\"1\"", "3", "-1", "1.0", "1e0", "true", "[1]", "{\"a\":1}", "null", "01"]
    {
        for answer in ["\"result\":1", "\"error\":{\"code\":1,\"message\":\"m\"}", "\"error\":1"] {
            side.line(format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#));
        }
    }
    assert_eq!(side.connection.pending().count(), 3);
    assert_eq!(side.connection.counters().responses, 0);
    assert_eq!(side.line(r#"{"id":1,"result":1}"#), ["response 1 a result 1"]);
}

/// C-022, C-023
#[test]
fn a_null_id_is_an_id_on_version_1_and_none_on_version_2() {
    let mut side = Side::agent();
    assert_eq!(side.line(r#"{"id":null,"method":"m"}"#), ["request id=null m"]);
    side.answer(0, "1");
    assert_eq!(side.sent(), result("null", "1") + "\n");
    let mut side = Side::ready(Role::Agent);
    assert_eq!(side.line(r#"{"id":null,"method":"m"}"#), ["rejected id answered"]);
    assert_eq!(
        side.sent(),
        concat!(
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request","#,
            r#""data":"ACP protocol v2 request ids must be a string or an integer, not null"}}"#,
            "\n"
        )
    );
    assert!(side.is_alive());
    let mut side = Side::ready(Role::Client);
    assert_eq!(side.line(r#"{"id":null,"method":"m"}"#), ["rejected id silent"]);
    assert_eq!(side.sent(), "");
}

/// C-024
#[test]
fn our_ids_are_integers_from_zero_and_never_used_twice() {
    let mut side = Side::client();
    assert_eq!([side.ask("a"), side.ask("b")], [0, 1]);
    side.line(r#"{"id":0,"result":1}"#);
    assert_eq!(side.ask("c"), 2);
    assert_eq!(side.connection.pending().collect::<Vec<_>>(), [(1, "b"), (2, "c")]);
}

/// C-025
#[test]
fn both_sides_may_use_one_id_at_the_same_time() {
    let mut side = Side::agent();
    assert_eq!(side.ask("ours"), 0);
    side.sent();
    side.line(r#"{"id":0,"method":"theirs"}"#);
    assert_eq!(side.line(r#"{"id":0,"result":"X"}"#), ["response 0 ours result \"X\""]);
    side.answer(0, "\"Y\"");
    assert_eq!(side.sent(), result("0", "\"Y\"") + "\n");
}

/// C-026
#[test]
fn an_answer_that_nobody_waits_for_is_ignored() {
    let mut side = Side::client();
    assert_eq!(side.line(r#"{"id":0,"result":1}"#), ["rejected response silent"]);
    let id = side.ask("a");
    side.sent();
    assert!(side.connection.forget(id));
    assert!(!side.connection.forget(id));
    assert_eq!(side.connection.pending().count(), 0);
    assert_eq!(side.line(r#"{"id":0,"result":1}"#), [""; 0]);
    assert_eq!(side.line(r#"{"id":0,"result":1}"#), ["rejected response silent"]);
    assert_eq!(side.sent(), "");
    assert_eq!(side.connection.counters().swallowed_responses, 1);
    assert_eq!(side.connection.counters().rejected(Reason::Response), 2);
}

#[test]
fn memory_of_given_up_requests_is_bounded() {
    let mut side = Side::client();
    for _ in 0..70_000 {
        let id = side.ask("a");
        side.connection.forget(id);
        side.connection.clear_output();
    }
    assert_eq!(side.line(r#"{"id":69999,"result":1}"#), [""; 0]);
    assert_eq!(side.line(r#"{"id":0,"result":1}"#), ["rejected response silent"]);
}

/// C-027
#[test]
fn absent_and_null_params_are_the_same() {
    let mut side = Side::agent();
    assert_eq!(side.line(r#"{"method":"m","params":null}"#), ["notification m"]);
    assert_eq!(side.line(r#"{"method":"m"}"#), ["notification m"]);
    assert_eq!(side.line(r#"{"method":"m","params":[]}"#), ["notification m []"]);
}

/// C-028
#[test]
fn a_message_without_params_has_no_such_member() {
    let mut side = Side::client();
    side.ask("a");
    side.ask_with("b", "{}");
    side.connection.notify("c", |_| Ok::<_, Infallible>(false)).unwrap();
    side.tell("d", "[]");
    assert_eq!(
        side.sent(),
        concat!(
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"a\"}\n",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"b\",\"params\":{}}\n",
            "{\"jsonrpc\":\"2.0\",\"method\":\"c\"}\n",
            "{\"jsonrpc\":\"2.0\",\"method\":\"d\",\"params\":[]}\n",
        )
    );
}

/// C-033
#[test]
fn method_names_are_handed_on_as_they_are() {
    let mut side = Side::agent();
    for (raw, name) in
        [("_x/y", "_x/y"), ("", ""), ("$/x", "$/x"), ("s\\u0065t", "set"), ("é", "é")]
    {
        assert_eq!(
            side.line(format!("{{\"method\":\"{raw}\"}}")),
            [format!("notification {name}")]
        );
    }
    side.line(r#"{"id":1,"method":"a\u0062"}"#);
    assert_eq!(side.connection.method_of(side.tokens[0]), Some("ab"));
}

/// C-036
#[test]
fn any_code_of_an_error_is_kept_and_written() {
    let mut side = Side::agent();
    for code in [i32::MIN, -32800, -1, 0, 7, i32::MAX] {
        let id = side.ask("a");
        side.sent();
        let line = error(&id.to_string(), code, "m");
        assert_eq!(side.line(&line), [format!("response {id} a error {code} m")]);
        side.line(r#"{"id":1,"method":"m"}"#);
        side.fail(side.tokens.len() - 1, code);
        assert_eq!(side.sent(), error("1", code, "no") + "\n");
    }
}

/// C-035
#[test]
fn an_error_is_written_with_message_and_data_as_given() {
    let mut side = Side::agent();
    side.line(r#"{"id":1,"method":"m"}"#);
    let data = "{\n\"requested\":1}";
    assert!(side.connection.respond_error(side.tokens[0], -32022, "a \"b\"\n", Some(data)));
    assert_eq!(
        side.sent(),
        concat!(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"a \"b\"\n","data":{ "requested":1}}}"#,
            "\n"
        )
    );
}

/// C-041
#[test]
fn the_first_answer_is_the_only_one() {
    let mut side = Side::agent();
    side.line(r#"{"id":1,"method":"m"}"#);
    assert!(side.answer(0, "1"));
    assert!(!side.answer(0, "2"));
    assert!(!side.fail(0, 3));
    assert_eq!(side.sent(), result("1", "1") + "\n");
    assert_eq!(side.connection.method_of(side.tokens[0]), None);
}

/// C-057: an id that is in use names two requests; each is answered.
#[test]
fn an_id_that_is_in_use_names_another_request() {
    let mut side = Side::agent();
    side.line(r#"{"id":1,"method":"a"}"#);
    side.line(r#"{"id":1,"method":"b"}"#);
    assert_eq!(side.connection.in_flight(), 2);
    side.answer(1, "\"B\"");
    side.answer(0, "\"A\"");
    assert_eq!(side.sent(), format!("{}\n{}\n", result("1", "\"B\""), result("1", "\"A\"")));
}

#[test]
fn a_member_of_the_envelope_that_comes_twice_is_refused() {
    for member in [
        r#""jsonrpc":"2.0","jsonrpc":"2.0""#,
        r#""id":1,"id":1"#,
        r#""method":"m","method":"evil""#,
        r#""params":{},"params":{}"#,
        r#""params":{},"\u0070arams":{}"#,
        r#""params":null,"params":null"#,
    ] {
        let rest = [r#""id":1"#, r#""method":"m""#]
            .into_iter()
            .filter(|rest| !member.contains(&rest[..4]));
        let line = format!("{{{member},{}}}", rest.collect::<Vec<_>>().join(","));
        let mut side = Side::agent();
        assert_eq!(side.line(&line), ["rejected duplicate answered"], "{line}");
        assert_eq!(side.sent(), invalid("null") + "\n");
        assert!(side.is_alive());
        assert_eq!(Side::client().line(&line), ["rejected duplicate silent"]);
    }
}

/// C-010
#[test]
fn of_a_member_of_params_that_comes_twice_the_last_counts() {
    let mut side = Side::agent();
    let message = |params: &str| format!("{{\"method\":\"m\",\"params\":{params}}}");
    for (params, lane) in [
        (r#"{"sessionId":"a","sessionId":"b"}"#, Some("b")),
        (r#"{"sessionId":"a","\u0073essionId":"c"}"#, Some("c")),
        (r#"{"sessionId":"a","sessionId":null}"#, None),
        (r#"{"sessionId":5}"#, None),
        (r#"{"x":{"sessionId":"a"}}"#, None),
        (r#"[{"sessionId":"a"}]"#, None),
        (r#"{"a":"\"sessionId\":","b":[{}],"sessionId":"s\u0031"}"#, Some("s1")),
    ] {
        let lane = lane.map(|id| format!(" lane={id}")).unwrap_or_default();
        assert_eq!(side.line(message(params)), [format!("notification m {params}{lane}")]);
    }
}

#[test]
fn an_answer_has_the_lane_of_the_session_in_its_result() {
    let mut side = Side::client();
    side.ask("session/new");
    side.ask("session/list");
    let line = r#"{"id":0,"result":{"modes":{},"sessionId":"s1"}}"#;
    assert_eq!(
        side.line(line),
        ["response 0 session/new result {\"modes\":{},\"sessionId\":\"s1\"} lane=s1"]
    );
    let line = r#"{"id":1,"result":[{"sessionId":"s1"}]}"#;
    assert_eq!(side.line(line), ["response 1 session/list result [{\"sessionId\":\"s1\"}]"]);
}

#[test]
fn messages_in_an_envelope_of_the_successor_are_the_successors() {
    let mut side = Side::new(Options { unwrap_successor: true, ..Options::new(Role::Agent) });
    let line = |id: &str, method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{params}}}"#)
    };
    let inner = r#"{"method":"session/prompt","params":{"sessionId":"s7","_meta":{"inner":1}},"_meta":{"hop":true}}"#;
    for name in ["proxy/successor", "_proxy/successor"] {
        assert_eq!(
            side.line(line("\"id\":1,", name, inner)),
            [
                r#"request id=1 session/prompt {"sessionId":"s7","_meta":{"inner":1}} lane=s7 from successor"#
            ]
        );
        for params in [r#"{"method":"m"}"#, r#"{"params":null,"method":"m"}"#] {
            assert_eq!(side.line(line("", name, params)), ["notification m from successor"]);
        }
    }
    assert_eq!(side.connection.method_of(side.tokens[0]), Some("session/prompt"));
    side.answer(0, "null");
    assert_eq!(side.sent(), result("1", "null") + "\n");
    for params in [r#"{"params":{}}"#, r#"{"method":5}"#, r#"{"method":"m","params":5}"#, "[]"] {
        let seen = side.line(line("", "proxy/successor", params));
        assert_eq!(seen, [format!("notification proxy/successor {params}")]);
    }
    let seen = Side::agent().line(line("", "proxy/successor", inner));
    assert_eq!(seen, [format!("notification proxy/successor {inner}")]);
}
