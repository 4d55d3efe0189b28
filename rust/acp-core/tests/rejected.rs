//! What is told of input that is no message: reason, code, and its bytes.

mod support;

use acp_core::connection::Connection;
use acp_core::event::{Event, Outcome, Reason};
use acp_core::options::{Options, Role};
use support::{Side, error};

/// Reason, code, bytes and size of what is rejected, malformed answers too.
fn rejected(
    connection: &mut Connection,
    input: &[u8],
) -> Vec<(Reason, Option<i32>, Vec<u8>, usize)> {
    let mut seen = Vec::new();
    connection.receive(input, &mut |event| match event {
        Event::Rejected { reason, code, raw, size, .. } => {
            seen.push((reason, code, raw.to_vec(), size));
        }
        Event::Response { outcome: Outcome::Malformed { reason, raw }, size, .. } => {
            seen.push((reason, None, raw.to_vec(), size));
        }
        _ => {}
    });
    seen
}

fn keeping(role: Role, kept_bytes: usize) -> Connection {
    Connection::new(Options { kept_bytes, max_message_bytes: 100, ..Options::new(role) })
}

#[test]
fn the_lax_reading_does_not_answer_objects_that_ask_nothing() {
    let frames = [r"{}", r#"{"jsonrpc":"2.0"}"#, r#"{"foo":"bar"}"#, r#"{"params":{"a":1}}"#];
    for lax in [true, false] {
        for frame in frames {
            let mut connection =
                Connection::new(Options { lax, kept_bytes: 99, ..Options::new(Role::Agent) });
            let seen = rejected(&mut connection, format!("{frame}\n").as_bytes());
            assert_eq!(seen.len(), 1, "it is told of all the same");
            assert_eq!(connection.take_output().is_empty(), lax, "{frame}");
        }
        let mut connection = Connection::new(Options { lax, ..Options::new(Role::Agent) });
        for frame in ["nope\n", "17\n", "[]\n", "{\"id\":1}\n", "{\"method\":5}\n"] {
            rejected(&mut connection, frame.as_bytes());
            assert!(!connection.take_output().is_empty(), "{frame}");
        }
    }
}

#[test]
fn a_rejected_frame_is_told_with_its_bytes() {
    let frames: [(&[u8], Reason); 6] = [
        (b"Loaded credentials.", Reason::Parse),
        (b"{\"method\":\"\xff\"}", Reason::Utf8),
        (b"  17 ", Reason::Envelope),
        (b"{\"method\":\"m\",\"method\":\"m\"}", Reason::Duplicate),
        (b"[]", Reason::Batch),
        (b"{\"id\":1.5,\"method\":\"m\"}", Reason::Id),
    ];
    for role in [Role::Agent, Role::Client] {
        for (frame, reason) in frames {
            let seen = rejected(&mut keeping(role, 0), &[frame, b"\r\n"].concat());
            assert_eq!(seen, [(reason, None, frame.to_vec(), frame.len())]);
        }
    }
}

#[test]
fn a_rejected_entry_of_a_batch_is_told_with_its_own_bytes() {
    let deep = format!("{}{}", "[".repeat(1025), "]".repeat(1025));
    let line = format!("[ 17 ,{{\"method\":\"m\"}}, {deep} ,\"x\\n\" ]\n");
    let mut connection = Connection::new(Options::new(Role::Agent));
    let seen = rejected(&mut connection, line.as_bytes());
    let told: Vec<_> = seen.iter().map(|(reason, _, raw, size)| (*reason, &**raw, *size)).collect();
    assert_eq!(
        told,
        [
            (Reason::Envelope, &b"17"[..], 2),
            (Reason::Depth, deep.as_bytes(), 2050),
            (Reason::Envelope, &b"\"x\\n\""[..], 5),
        ]
    );
}

#[test]
fn of_a_frame_over_the_limit_only_the_beginning_is_kept_however_it_arrives() {
    let frame = format!("{{\"id\":5,\"method\":\"m\",\"params\":[\"{}\"]}}", "x".repeat(1 << 20));
    for (kept, chunk) in [(0, 10), (7, 3), (7, 1 << 22), (50, 99), (150, 64), (150, 1 << 22)] {
        let mut connection = keeping(Role::Agent, kept);
        let mut seen = Vec::new();
        for part in frame.as_bytes().chunks(chunk) {
            seen.extend(rejected(&mut connection, part));
            assert!(connection.input_len() <= 101);
        }
        seen.extend(rejected(&mut connection, b"\r\n"));
        let head = frame.as_bytes()[..kept].to_vec();
        assert_eq!(seen, [(Reason::Size, None, head, frame.len())], "{kept} of {chunk}");
    }
    // One that is hardly over it does not get its line ending shown.
    let seen = rejected(&mut keeping(Role::Client, 1000), &[&[b'x'; 101][..], b"\r\n"].concat());
    assert_eq!(seen, [(Reason::Size, None, vec![b'x'; 101], 101)]);
}

#[test]
fn a_malformed_answer_is_told_with_reason_and_bytes_also_when_nobody_waits_for_it_any_more() {
    let answers: [(&[u8], Reason); 4] = [
        (b"{\"id\":0,\"error\":\"boom\"}", Reason::Envelope),
        (b"{\"id\":0,\"result\":1,\"result\":1}", Reason::Duplicate),
        (b"{\"id\":0,\"result\":NaN}", Reason::Parse),
        (b"{\"id\":0,\"result\":\"\xff\"}", Reason::Utf8),
    ];
    for (answer, reason) in answers {
        for given_up in [false, true] {
            let mut side = Side::client();
            let id = side.ask("m");
            if given_up {
                side.connection.forget(id);
            }
            let seen = rejected(&mut side.connection, &[answer, b"\n"].concat());
            assert_eq!(seen, [(reason, None, answer.to_vec(), answer.len())]);
        }
    }
}

/// C05: the peer could not read something of ours, and cannot say what.
#[test]
fn an_error_with_a_null_id_is_told_with_its_code_and_answered_by_nothing() {
    for role in [Role::Agent, Role::Client] {
        for batched in [false, true] {
            let mut side = Side::new(Options::new(role));
            side.ask("m");
            side.sent();
            let line = error("null", -32700, "Parse error");
            let sent = if batched { format!("[{line}]\n") } else { format!("{line}\n") };
            let seen = rejected(&mut side.connection, sent.as_bytes());
            let told = (Reason::Error, Some(-32700), line.clone().into_bytes(), line.len());
            assert_eq!(seen, [told]);
            assert_eq!(side.sent(), "");
            assert_eq!(side.connection.pending().count(), 1);
            assert_eq!(side.connection.counters().rejected(Reason::Error), 1);
        }
    }
    let mut side = Side::client();
    for line in [
        r#"{"id":null,"result":1}"#,
        r#"{"id":null,"error":"boom"}"#,
        r#"{"id":null,"error":{"code":1}}"#,
        r#"{"id":"null","error":{"code":1,"message":"m"}}"#,
        r#"{"error":{"code":1,"message":"m"}}"#,
    ] {
        assert_eq!(side.line(line), ["rejected response silent"], "{line}");
    }
}
