//! `$/cancel_request` in both directions.

mod support;

use acp_core::event::Reason;
use acp_core::options::{Options, Role};
use support::{Side, error, result};

fn cancel(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{id}}}}}"#)
}

/// C-094, C-095
#[test]
fn a_request_of_ours_is_cancelled_at_most_once() {
    let mut side = Side::client();
    let id = side.ask("m");
    side.sent();
    assert!(side.connection.cancel(id));
    assert_eq!(side.sent(), cancel("0") + "\n");
    assert!(!side.connection.cancel(id));
    assert!(!side.connection.cancel(99));
    assert_eq!(side.sent(), "");
}

/// C-096
#[test]
fn a_cancelled_request_of_ours_waits_for_its_answer() {
    for answer in [result("0", "{}"), error("0", -32800, "Request cancelled")] {
        let mut side = Side::client();
        let id = side.ask("m");
        side.connection.cancel(id);
        assert_eq!(side.connection.pending().collect::<Vec<_>>(), [(0, "m")]);
        assert!(side.line(answer)[0].starts_with("response 0 m "));
    }
}

/// C-097
#[test]
fn an_answered_or_given_up_request_is_not_cancelled() {
    let mut side = Side::client();
    let (answered, given_up) = (side.ask("m"), side.ask("m"));
    side.line(result("0", "{}"));
    side.connection.forget(given_up);
    side.sent();
    assert!(!side.connection.cancel(answered));
    assert!(!side.connection.cancel(given_up));
    assert_eq!(side.sent(), "");
}

/// C-103
#[test]
fn a_cancellation_marks_its_request_before_it_is_told() {
    let mut side = Side::agent();
    side.line(r#"{"id":4,"method":"_x/slow"}"#);
    side.line(r#"{"id":"4","method":"_x/slow"}"#);
    assert_eq!(side.line(cancel("4")), ["cancelled id=4"]);
    let marks: Vec<_> =
        side.tokens.iter().map(|token| side.connection.is_cancelled(*token)).collect();
    assert_eq!(marks, [true, false]);
    assert_eq!(side.line(cancel("\"\\u0034\"")), ["cancelled id=\"4\""]);
}

/// C-105
#[test]
fn a_cancelled_request_is_still_answered_once_by_its_handler() {
    let mut side = Side::agent();
    side.line(r#"{"id":4,"method":"m"}"#);
    side.line(cancel("4"));
    assert_eq!(side.sent(), "");
    assert_eq!(side.connection.in_flight(), 1);
    assert!(side.fail(0, -32800));
    assert!(!side.answer(0, "{}"));
    assert_eq!(side.sent(), error("4", -32800, "no") + "\n");
}

/// C-106
#[test]
fn a_cancellation_that_hits_nothing_is_ignored() {
    let mut side = Side::agent();
    side.line(r#"{"id":4,"method":"m"}"#);
    side.line(r#"{"id":5,"method":"m"}"#);
    side.answer(1, "{}");
    side.sent();
    let malformed = [
        r#"{"method":"$/cancel_request"}"#,
        r#"{"method":"$/cancel_request","params":[4]}"#,
        r#"{"method":"$/cancel_request","params":{}}"#,
        r#"{"method":"$/cancel_request","params":{"id":4}}"#,
        r#"{"method":"$/cancel_request","params":{"requestId":[4]}}"#,
        r#"{"method":"$/cancel_request","params":{"requestId":4.0}}"#,
    ];
    for line in malformed {
        assert_eq!(side.line(line), ["rejected cancel silent"], "{line}");
        assert_eq!(side.line(format!("[{line}]")), ["rejected cancel silent"], "{line}");
    }
    for line in [cancel("99"), cancel("5"), cancel("\"4\""), cancel("null")] {
        assert_eq!(side.line(&line), [""; 0], "{line}");
    }
    assert_eq!(side.sent(), "");
    assert!(!side.connection.is_cancelled(side.tokens[0]));
    let counters = side.connection.counters();
    assert_eq!((counters.idle_cancellations, counters.rejected(Reason::Cancel)), (4, 12));
    assert_eq!(side.connection.open_batches(), 0);
}

/// C-107
#[test]
fn a_cancellation_hits_every_unanswered_request_with_its_id_and_no_earlier_one() {
    let mut side = Side::agent();
    side.line(r#"{"id":1,"method":"a"}"#);
    side.answer(0, "{}");
    side.line(r#"{"id":1,"method":"b"}"#);
    side.line(r#"{"id":1,"method":"c"}"#);
    assert_eq!(side.line(cancel("1")), ["cancelled id=1", "cancelled id=1"]);
    assert_eq!(side.line(cancel("1")), [""; 0], "both are marked already");
    side.answer(1, "{}");
    side.line(r#"{"id":1,"method":"d"}"#);
    assert_eq!(side.line(cancel("1")), ["cancelled id=1"]);
}

/// C-108
#[test]
fn initialize_can_be_cancelled() {
    let mut side = Side::new(Options { require_initialize: true, ..Options::new(Role::Agent) });
    side.line(r#"{"id":1,"method":"initialize","params":{"protocolVersion":1}}"#);
    assert_eq!(side.line(cancel("1")), ["cancelled id=1"]);
    side.fail(0, -32800);
    assert!(!side.connection.initialized());
}

#[test]
fn a_cancellation_in_the_chunk_of_its_request_hits_it_only_when_it_comes_after() {
    let prompt = r#"{"id":1,"method":"session/prompt"}"#;
    let mut side = Side::agent();
    let seen = side.feed(format!("{prompt}\n{}\n", cancel("1")));
    assert_eq!(seen, ["request id=1 session/prompt", "cancelled id=1"]);
    let mut side = Side::agent();
    let seen = side.feed(format!("{}\n{prompt}\n", cancel("1")));
    assert_eq!(seen, ["request id=1 session/prompt"]);
    assert!(!side.connection.is_cancelled(side.tokens[0]));
}

/// C-100
#[test]
fn a_cancellation_in_an_envelope_of_the_successor_is_understood() {
    let mut side = Side::new(Options { unwrap_successor: true, ..Options::new(Role::Agent) });
    side.line(r#"{"id":1,"method":"proxy/successor","params":{"method":"m"}}"#);
    let wrapped = r#"{"method":"proxy/successor","params":{"method":"$/cancel_request","params":{"requestId":1}}}"#;
    assert_eq!(side.line(wrapped), ["cancelled id=1"]);
}

#[test]
fn a_cancellation_with_an_id_of_its_own_is_a_request_like_any_other() {
    let mut side = Side::agent();
    side.line(r#"{"id":1,"method":"m"}"#);
    let line = r#"{"id":2,"method":"$/cancel_request","params":{"requestId":1}}"#;
    assert_eq!(side.line(line), ["request id=2 $/cancel_request {\"requestId\":1}"]);
    assert!(!side.connection.is_cancelled(side.tokens[0]));
}

#[test]
fn a_storm_of_requests_and_cancellations_leaves_nothing() {
    let mut side = Side::agent();
    for round in 0..20_000_u32 {
        let at = side.tokens.len();
        side.line(format!(r#"{{"id":{},"method":"m"}}"#, round % 7));
        side.line(cancel(&(round % 7).to_string()));
        assert!(side.connection.is_cancelled(side.tokens[at]));
        if round % 3 == 0 {
            for at in at.saturating_sub(2)..=at {
                side.fail(at, -32800);
            }
        }
    }
    for at in 0..side.tokens.len() {
        side.fail(at, -32800);
    }
    assert_eq!(side.connection.in_flight(), 0);
    assert_eq!(side.sent().lines().count(), 20_000);
}
