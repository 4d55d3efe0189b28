//! Input that no good peer sends: what each answers, and that the next request is served.

mod support;

use acp_core::options::{Options, Role};
use support::{Side, error, invalid};

/// What an agent answers.
#[derive(Clone, Copy)]
enum Reply {
    Nothing,
    /// -32700 with id null.
    Parse,
    /// -32600 with id null.
    Invalid,
    /// -32600 with this id.
    InvalidWith(&'static str),
}
use Reply::{Invalid, InvalidWith, Nothing, Parse};

/// Frames, and what an agent whose request 0 is unanswered answers to each. None of them settles that request.
const TABLE: &[(&[u8], Reply)] = &[
    // Noise.
    (b"Loaded credentials.", Parse),
    (b"\x1b]0;title\x07", Parse),
    (b"[tool] thinking...", Parse),
    (b"Traceback (most recent call last):", Parse),
    (b"POST / HTTP/1.1\r", Parse),
    (b"Content-Length: 52\r", Parse),
    (b"\0", Parse),
    (b"\0\0\0\0", Parse),
    (b"\x0b", Parse),
    (b"\xc2\xa0", Parse),
    (b"\xe2\x80\xa8", Parse),
    (b"\r\r", Nothing),
    (b" \t ", Nothing),
    // Values that are no message.
    (b"\"starting\"", Invalid),
    (b"42", Invalid),
    (b"-0", Invalid),
    (b"null", Invalid),
    (b"true", Invalid),
    (b"{}", Invalid),
    (b"[]", Invalid),
    // Broken JSON.
    (b"{", Parse),
    (b"}", Parse),
    (b"{oops", Parse),
    (b"[1,2", Parse),
    (b"{\"id\":7,\"method\":\"m\"", Parse),
    (b"{\"id\":7,\"method\":\"m\"}}", Parse),
    (b"{\"id\":7,\"method\":\"m\"}{\"id\":8,\"method\":\"m\"}", Parse),
    (b"{\"id\":7,\"method\":\"m\",}", Parse),
    (b"{\"jsonrpc\":\"2.0\",}", Parse),
    (b"{\"jsonrpc\":\"2.0\",", Parse),
    (b"{\"jsonrpc\":\"2.0\"}", Invalid),
    (b"{'id':7,'method':'m'}", Parse),
    (b"{id:7,method:\"m\"}", Parse),
    (b"{\"id\":7,\"method\":\"m\" /* no */}", Parse),
    (b"{\"id\":07,\"method\":\"m\"}", Parse),
    (b"{\"id\":+7,\"method\":\"m\"}", Parse),
    (b"{\"id\":7,\"method\":\"m\",\"params\":{\"v\":NaN}}", Parse),
    (b"{\"id\":Infinity,\"method\":\"m\"}", Parse),
    (b"{\"id\":7,\"method\":\"m\",\"params\":[1e999]}", Parse),
    (b"{\"id\":7,\"method\":\"m\",\"params\":{\"t\":\"\x01\"}}", Parse),
    (b"{\"id\":7,\"method\":\"\\x\"}", Parse),
    (b"{\"id\":7,\"method\":\"\\ud8\"}", Parse),
    (b"{\"id\":7 \"method\":\"m\"}", Parse),
    (b"\xef\xbb\xbf{\"id\":7,\"method\":\"m\"}", Parse),
    // Encodings.
    (b"{\"id\":7,\"method\":\"\xff\"}", Parse),
    (b"{\"id\":7,\"method\":\"\xc0\xaf\"}", Parse),
    (b"{\"id\":7,\"method\":\"\xed\xa0\x80\"}", Parse),
    (b"{\"id\":7,\"method\":\"\xf4\x90\x80\x80\"}", Parse),
    (b"{\"id\":7,\"method\":\"m\",\"params\":{\"\xe2\x82\":1}}", Parse),
    (b"\xff\xfe{\0\"\0", Parse),
    // Envelopes.
    (b"{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"m\"}", Invalid),
    (b"{\"jsonrpc\":\"2.0 \",\"id\":7,\"method\":\"m\"}", Invalid),
    (b"{\"jsonrpc\":2,\"id\":7,\"method\":\"m\"}", Invalid),
    (b"{\"jsonrpc\":{},\"method\":\"m\"}", Invalid),
    (b"{\"id\":7,\"method\":{}}", Invalid),
    (b"{\"id\":7,\"method\":[\"m\"]}", Invalid),
    (b"{\"id\":7,\"method\":\"m\",\"params\":1}", Invalid),
    (b"{\"method\":\"m\",\"params\":\"x\"}", Invalid),
    (b"{\"id\":7,\"method\":\"m\",\"result\":{}}", Invalid),
    (b"{\"id\":7,\"method\":\"m\",\"error\":{}}", Invalid),
    (b"{\"id\":7,\"Method\":\"m\"}", Invalid),
    (b"{\"id\":7,\"method\\u0000\":\"m\"}", Invalid),
    (b"{\"id\":7}", Invalid),
    (b"{\"id\":\"0\"}", Invalid),
    // Members twice.
    (b"{\"id\":7,\"method\":\"good\",\"method\":\"evil\"}", Invalid),
    (b"{\"id\":7,\"method\":\"good\",\"m\\u0065thod\":\"evil\"}", Invalid),
    (b"{\"id\":7,\"id\":8,\"method\":\"m\"}", Invalid),
    (b"{\"jsonrpc\":\"2.0\",\"jsonrpc\":\"2.0\",\"method\":\"m\"}", Invalid),
    (b"{\"method\":\"m\",\"params\":{},\"params\":{}}", Invalid),
    // Ids.
    (b"{\"id\":1.5,\"method\":\"m\"}", Invalid),
    (b"{\"id\":1.0,\"method\":\"m\"}", Invalid),
    (b"{\"id\":1e0,\"method\":\"m\"}", Invalid),
    (b"{\"id\":-0,\"method\":\"m\"}", Invalid),
    (b"{\"id\":true,\"method\":\"m\"}", Invalid),
    (b"{\"id\":[1],\"method\":\"m\"}", Invalid),
    (b"{\"id\":{\"a\":1},\"method\":\"m\"}", Invalid),
    (b"{\"id\":9223372036854775808,\"method\":\"m\"}", Invalid),
    // Answers to nobody.
    (b"{\"id\":1,\"result\":{}}", Nothing),
    (b"{\"id\":\"0\",\"result\":{}}", Nothing),
    (b"{\"id\":0.0,\"result\":{}}", Nothing),
    (b"{\"id\":false,\"result\":{}}", Nothing),
    (b"{\"id\":[0],\"result\":{}}", Nothing),
    (b"{\"id\":{\"a\":0},\"error\":1}", Nothing),
    (b"{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}", Nothing),
    (b"{\"result\":{}}", Nothing),
    (b"{\"error\":null}", Nothing),
    // Notifications that mean nothing.
    (b"{\"method\":\"$/cancel_request\"}", Nothing),
    (b"{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":{}}}", Nothing),
    (b"{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":99}}", Nothing),
    (b"{\"method\":\"\"}", Nothing),
];

fn pending_agent(options: Options) -> Side {
    let mut side = Side::new(options);
    side.ask("ours");
    side.sent();
    side
}

fn expected(reply: Reply) -> String {
    match reply {
        Nothing => String::new(),
        Parse => error("null", -32700, "Parse error") + "\n",
        Invalid => invalid("null") + "\n",
        InvalidWith(id) => invalid(id) + "\n",
    }
}

/// C-011, C-012, C-014, C-020
#[test]
fn each_hostile_frame_has_its_exact_reply_and_costs_no_other() {
    assert!(TABLE.len() >= 60);
    let mut shared = pending_agent(Options::new(Role::Agent));
    for (frame, reply) in TABLE {
        let mut own = pending_agent(Options::new(Role::Agent));
        for side in [&mut own, &mut shared] {
            side.line(frame);
            assert_eq!(side.sent(), expected(*reply), "{}", frame.escape_ascii());
            assert_eq!(side.connection.pending().count(), 1, "{}", frame.escape_ascii());
            assert_eq!(side.connection.in_flight(), 0);
            assert!(side.is_alive(), "{}", frame.escape_ascii());
        }
    }
    assert_eq!(shared.line(r#"{"id":0,"result":1}"#), ["response 0 ours result 1"]);
}

#[test]
fn a_client_answers_none_of_them() {
    let mut side = pending_agent(Options::new(Role::Client));
    for (frame, _) in TABLE {
        side.line(frame);
        assert_eq!(side.sent(), "", "{}", frame.escape_ascii());
        side.frame(frame);
        assert_eq!(side.sent(), "", "{}", frame.escape_ascii());
    }
    assert_eq!(side.line(r#"{"id":0,"result":1}"#), ["response 0 ours result 1"]);
    assert!(side.is_alive());
}

#[test]
fn entries_of_an_array_get_the_same_replies() {
    for (frame, reply) in TABLE {
        let entry = frame.trim_ascii();
        if matches!(reply, Parse) || entry.is_empty() || entry == b"[]" {
            continue;
        }
        let mut side = pending_agent(Options::new(Role::Agent));
        side.line([b"[", entry, b"]"].concat());
        let tokens = side.tokens.clone();
        for token in tokens {
            side.connection.handled(token);
        }
        let reply = expected(*reply);
        let reply = if reply.is_empty() { reply } else { format!("[{}]\n", reply.trim_end()) };
        assert_eq!(side.sent(), reply, "{}", frame.escape_ascii());
        assert!(side.is_alive());
    }
}

#[test]
fn frames_over_the_limits_have_their_exact_reply() {
    let wide = |head: &str, tail: &str| format!("{head}{}{tail}", "a".repeat(5000));
    let deep =
        |head: &str, tail: &str| format!("{head}{}{}{tail}", "[".repeat(1025), "]".repeat(1025));
    for (frame, reply) in [
        (wide("", ""), Invalid),
        (wide("\"", "\""), Invalid),
        (wide("[\"", "\"]"), Invalid),
        (wide("{\"id\":7,\"method\":\"m\",\"params\":[\"", "\"]}"), InvalidWith("7")),
        (wide("{\"params\":[\"", "\"],\"method\":\"m\",\"id\":\"x\"}"), InvalidWith("\"x\"")),
        (wide("{\"id\":7,\"method\":\"", "\"}"), InvalidWith("7")),
        (wide("{\"id\":7,\"method\":\"m\",\"params\":[\"", ""), Invalid),
        (wide("{\"id\":\"", "\",\"method\":\"m\"}"), Invalid),
        (wide("{\"method\":\"m\",\"params\":[\"", "\"]}"), Nothing),
        (wide("{\"id\":5,\"result\":\"", "\"}"), Nothing),
        (wide("{\"", "\":1}"), Invalid),
        (" ".repeat(6000), Nothing),
        (deep("{\"id\":7,\"method\":\"m\",\"params\":", "}"), InvalidWith("7")),
        (deep("{\"method\":\"m\",\"params\":", "}"), Nothing),
        (deep("{\"id\":7,\"method\":\"m\",\"x\":", "}"), InvalidWith("7")),
        (deep("{\"id\":", ",\"method\":\"m\"}"), Invalid),
        (deep("{\"id\":5,\"error\":", "}"), Nothing),
        (format!("{{\"id\":7,\"method\":\"m\",\"params\":[{}]}}", "9".repeat(4301)), Parse),
        ("[".repeat(4000), Invalid),
        ("{\"a\":".repeat(900), Parse),
        ("{\"a\":".repeat(1026) + &"}".repeat(1026), Invalid),
    ] {
        let mut side =
            pending_agent(Options { max_message_bytes: 4900, ..Options::new(Role::Agent) });
        side.line(&frame);
        let start = &frame[..frame.len().min(40)];
        assert_eq!(side.sent(), expected(reply), "{start}");
        assert_eq!(side.connection.pending().count(), 1, "{start}");
        assert!(side.is_alive(), "{start}");
    }
}

#[test]
fn a_long_run_of_garbage_leaves_nothing_in_memory() {
    let mut side = pending_agent(Options::new(Role::Agent));
    for round in 0..200 {
        for (frame, _) in TABLE {
            side.line(frame);
        }
        side.line("[1,{\"method\":\"m\"},[]]");
        let tokens = std::mem::take(&mut side.tokens);
        for token in tokens {
            side.connection.handled(token);
        }
        assert_eq!(side.connection.open_batches(), 0, "round {round}");
        assert_eq!(side.connection.input_len(), 0);
        assert_eq!(side.connection.in_flight(), 0);
        side.sent();
    }
    assert!(side.is_alive());
}

#[test]
fn garbage_from_a_peer_that_reads_nothing_does_not_pile_up() {
    let mut side = Side::new(Options { max_unread_bytes: 10_000, ..Options::new(Role::Agent) });
    for garbage in ["x\n", "{}\n", "[1,2,3,4,5,6,7,8,9]\n", "[]\n", "\"\u{7f}\"\n"] {
        side.feed(garbage.repeat(20_000));
        assert!(side.connection.output().len() < 12_000, "{garbage}");
        // A request is answered all the same, and exactly once.
        side.line(r#"{"jsonrpc":"2.0","id":5,"method":"m"}"#);
        let token = *side.tokens.last().unwrap();
        assert!(side.connection.respond_error(token, -32601, "Method not found", None));
        let sent = side.connection.take_output();
        assert_eq!(sent.windows(6).filter(|window| window == b"\"id\":5").count(), 1, "{garbage}");
        // Once it reads, garbage is answered again.
        side.line("x");
        assert!(!side.connection.take_output().is_empty());
    }
    let counters = side.connection.counters();
    let rejected: u64 = counters.rejected.iter().sum();
    assert_eq!(rejected, 4 * 20_000 + 9 * 20_000 + 5);
    assert!(counters.unanswered > rejected * 9 / 10);
}
