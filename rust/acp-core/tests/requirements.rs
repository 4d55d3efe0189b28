//! Single requirements that the files by subject leave open; `tests/requirements.toml` lists all of them with their
//! tests.

mod support;

use acp_core::event::Reason;
use acp_core::options::{BatchPolicy, Options, Role};
use support::{Side, error, invalid, result};

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"_x/note"}"#;

fn request(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)
}

fn initialize(id: &str) -> String {
    format!(r#"{{"id":{id},"method":"initialize","params":{{"protocolVersion":1}}}}"#)
}

/// C-005, C-006: a transport that keeps frames apart has the same rules as one of lines.
#[test]
fn a_frame_of_its_own_is_judged_like_a_line() {
    let mut side = Side::new(Options { max_message_bytes: 100, ..Options::new(Role::Agent) });
    let long = format!(r#"{{"id":3,"method":"m","params":["{}"]}}"#, "x".repeat(200));
    assert_eq!(side.frame(&long), ["rejected size answered"]);
    assert_eq!(side.sent(), invalid("3") + "\n");
    assert_eq!(side.frame(b"{\"method\":\"\xff\"}"), ["rejected utf8 answered"]);
    assert_eq!(side.frame("\u{feff}{}"), ["rejected parse answered"]);
    assert_eq!(side.frame("{}\n{}"), ["rejected parse answered"], "one frame is one value");
    assert_eq!(side.sent(), (error("null", -32700, "Parse error") + "\n").repeat(3));
    assert_eq!(side.connection.input_len(), 0);
    assert!(side.is_alive());
}

/// C-006: an entry of an array cannot be told from its siblings once bytes are bad.
#[test]
fn bad_bytes_cost_the_whole_array_and_nothing_behind_it() {
    let mut side = Side::agent();
    let array = [b"[", request("1").as_bytes(), b",{\"method\":\"\xff\"}]\n"].concat();
    let seen = side.feed([array, request("2").into_bytes(), b"\n".to_vec()].concat());
    assert_eq!(seen, ["rejected utf8 answered", "request id=2 m"]);
    assert_eq!(side.sent(), error("null", -32700, "Parse error") + "\n");
    assert_eq!(side.connection.counters().rejected(Reason::Utf8), 1);
}

/// C-019, C-021: on both versions, alone and in an array, for results and for errors.
#[test]
fn ids_come_back_as_they_were_wherever_they_stood() {
    let ids = ["-9223372036854775808", "9223372036854775807", "\"\"", "\"9\"", "\"\u{1F600}\\n\""];
    for mut side in [Side::agent(), Side::ready(Role::Agent)] {
        let entries: Vec<_> = ids.iter().map(|id| request(id)).collect();
        side.line(format!("[{}]", entries.join(",")));
        for entry in &entries {
            side.line(entry);
        }
        for at in 0..2 * ids.len() {
            assert!(if at.is_multiple_of(2) { side.answer(at, "1") } else { side.fail(at, 2) });
        }
        let reply = |at: usize| {
            let id = ids[at % ids.len()];
            if at.is_multiple_of(2) { result(id, "1") } else { error(id, 2, "no") }
        };
        let replies: Vec<_> = (0..ids.len()).map(reply).collect();
        let lines: String = (ids.len()..2 * ids.len()).map(|at| reply(at) + "\n").collect();
        assert_eq!(side.sent(), format!("[{}]\n{lines}", replies.join(",")));
    }
}

/// C-022, C-023
#[test]
fn a_null_id_in_an_array_has_a_reply_of_its_own_on_either_version() {
    let entries = format!("[{},{}]", request("null"), request("1"));
    let mut side = Side::agent();
    assert_eq!(side.line(&entries), ["request id=null m", "request id=1 m"]);
    side.answer(1, "1");
    side.answer(0, "0");
    assert_eq!(side.sent(), format!("[{},{}]\n", result("null", "0"), result("1", "1")));
    let mut side = Side::ready(Role::Agent);
    assert_eq!(side.line(&entries), ["rejected id answered", "request id=1 m"]);
    side.answer(0, "1");
    let sent = side.sent();
    assert!(sent.starts_with(r#"[{"jsonrpc":"2.0","id":null,"error":{"code":-32600"#), "{sent}");
    assert!(sent.ends_with(&format!(",{}]\n", result("1", "1"))), "{sent}");
}

/// C-023: what comes with a null id and is too long is no request of version 2 either.
#[test]
fn a_null_id_over_a_limit_is_refused_on_version_2() {
    let deep = format!("{}{}", "[".repeat(1025), "]".repeat(1025));
    let line = format!(r#"{{"id":null,"method":"m","params":{deep}}}"#);
    let mut side = Side::ready(Role::Agent);
    assert_eq!(side.line(&line), ["rejected depth answered"]);
    assert_eq!(side.sent(), invalid("null") + "\n");
    assert_eq!(Side::ready(Role::Client).line(&line), ["rejected depth silent"]);
}

/// C-026
#[test]
fn answers_that_nobody_waits_for_are_ignored_in_an_array_too() {
    let mut side = Side::client();
    let given_up = side.ask("a");
    side.ask("b");
    side.connection.forget(given_up);
    side.sent();
    let seen =
        side.line(format!("[{},{},{}]", result("7", "1"), result("0", "1"), result("1", "1")));
    assert_eq!(seen, ["rejected response silent", "response 1 b result 1"]);
    assert_eq!(side.sent(), "");
    assert_eq!(side.connection.counters().swallowed_responses, 1);
    assert!(side.is_alive());
}

/// C-027: absent and null params of a request, and of one in the successor's envelope.
#[test]
fn a_request_without_params_has_none_whatever_stands_in_their_place() {
    let mut side = Side::new(Options { unwrap_successor: true, ..Options::new(Role::Agent) });
    for params in ["", r#","params":null"#] {
        assert_eq!(side.line(format!(r#"{{"id":1,"method":"m"{params}}}"#)), ["request id=1 m"]);
        let inner = format!(r#"{{"method":"m"{params}}}"#);
        let line = format!(r#"{{"id":2,"method":"proxy/successor","params":{inner}}}"#);
        assert_eq!(side.line(line), ["request id=2 m from successor"]);
    }
}

/// C-044, C-072: order and tokens follow the source, whatever kind the entries have.
#[test]
fn entries_of_any_kind_are_told_in_the_order_of_the_source() {
    let mut side = Side::agent();
    side.ask("a");
    side.ask("b");
    side.sent();
    let cancel = r#"{"method":"$/cancel_request","params":{"requestId":1}}"#;
    let seen = side.line(format!(
        "[{},{NOTE},{},17,{cancel},{},{}]",
        result("1", "1"),
        request("1"),
        request("2"),
        error("0", 5, "no")
    ));
    assert_eq!(
        seen,
        [
            "response 1 b result 1",
            "batched notification _x/note",
            "request id=1 m",
            "rejected envelope answered",
            "cancelled id=1",
            "request id=2 m",
            "response 0 a error 5 no",
        ]
    );
    assert!(side.tokens.is_sorted());
}

/// C-051: in an array, too, a failed `initialize` leaves room for another.
#[test]
fn an_array_with_a_failed_initialize_can_be_sent_again() {
    let mut side = Side::new(Options { require_initialize: true, ..Options::new(Role::Agent) });
    let array = format!("[{},{}]", initialize("1"), request("2"));
    for succeeds in [false, true] {
        let at = side.tokens.len();
        assert_eq!(side.line(&array).len(), 2);
        assert!(if succeeds { side.answer(at, "{}") } else { side.fail(at, -32603) });
        assert_eq!(side.connection.admit(side.tokens[at + 1]), succeeds);
        if succeeds {
            assert!(side.answer(at + 1, "{}"));
        }
        assert_eq!(side.connection.initialized(), succeeds);
        let sent = side.sent();
        assert_eq!(sent.matches("\"error\"").count(), if succeeds { 0 } else { 2 }, "{sent}");
        assert_eq!(sent.lines().count(), 1);
    }
}

/// C-054, C-055: no request, no array, however late the notifications are handled.
#[test]
fn a_batch_of_notifications_is_silent_when_the_last_was_handled() {
    let mut side = Side::agent();
    side.line(format!("[{NOTE},{NOTE},{}]", result("9", "1")));
    assert_eq!(side.connection.open_batches(), 1);
    for token in side.tokens.clone() {
        side.connection.handled(token);
    }
    assert_eq!(side.sent(), "");
    assert_eq!(side.connection.open_batches(), 0);
}

/// C-054: an invalid entry, which is answered at once, waits with the others.
#[test]
fn the_error_of_an_invalid_entry_waits_for_the_notifications_behind_it() {
    let mut side = Side::agent();
    side.line(format!("[17,{NOTE}]"));
    assert_eq!(side.sent(), "");
    side.connection.handled(side.tokens[0]);
    assert_eq!(side.sent(), format!("[{}]\n", invalid("null")));
}

/// C-062: several requests of one batch with one id are all hit, and each has its own reply.
#[test]
fn a_cancellation_hits_all_entries_with_its_id_and_fills_none() {
    let mut side = Side::agent();
    side.line(format!("[{},{},{}]", request("1"), request("1"), request("2")));
    let cancel = r#"{"method":"$/cancel_request","params":{"requestId":1}}"#;
    assert_eq!(side.line(cancel), ["cancelled id=1", "cancelled id=1"]);
    assert_eq!(side.sent(), "");
    side.fail(0, -32800);
    side.answer(1, "1");
    side.answer(2, "2");
    let replies = [error("1", -32800, "no"), result("1", "1"), result("2", "2")];
    assert_eq!(side.sent(), format!("[{}]\n", replies.join(",")));
}

/// C-063: what is complete when the input ends is sent, also when it is completed after that.
#[test]
fn an_array_is_sent_after_the_end_of_input_once_it_is_complete() {
    let mut side = Side::agent();
    side.feed(format!("[{},{}]", request("1"), request("2")));
    assert_eq!(side.end(), ["request id=1 m", "request id=2 m"]);
    side.answer(1, "2");
    assert_eq!(side.sent(), "");
    side.answer(0, "1");
    assert_eq!(side.sent(), format!("[{},{}]\n", result("1", "1"), result("2", "2")));
}

/// C-073: what is refused for what it is stays refused where it is too deep, too long or broken as well.
#[test]
fn where_no_batches_are_accepted_a_broken_array_has_one_error_too() {
    let mut side = Side::new(Options {
        batches: BatchPolicy::Reject,
        max_message_bytes: 4000,
        ..Options::new(Role::Agent)
    });
    let deep = format!("[{}{}]", "[".repeat(1025), "]".repeat(1025));
    let long = format!("[{}{}]", request("1"), format!(",{}", request("2")).repeat(200));
    for (line, code) in [(&*deep, -32600), (&long, -32600), ("[1,", -32700), ("[1 2]", -32700)] {
        side.line(line);
        let sent = side.sent();
        assert_eq!(sent.lines().count(), 1, "{sent}");
        assert!(sent.contains(&format!("\"id\":null,\"error\":{{\"code\":{code}")), "{sent}");
        assert_eq!(side.connection.in_flight(), 0);
    }
    assert!(side.is_alive());
}

/// C-106, C-107: a cancellation that comes while an older request with its id is answered hits the newer one only.
#[test]
fn a_cancellation_in_a_batch_hits_only_what_is_unanswered_then() {
    let mut side = Side::agent();
    side.line(request("1"));
    side.answer(0, "{}");
    let cancel = r#"{"method":"$/cancel_request","params":{"requestId":1}}"#;
    assert_eq!(side.line(format!("[{cancel},{},{cancel}]", request("1"))).len(), 2);
    assert!(!side.connection.is_cancelled(side.tokens[0]));
    assert!(side.connection.is_cancelled(side.tokens[1]));
    assert_eq!(side.connection.counters().idle_cancellations, 1);
}
