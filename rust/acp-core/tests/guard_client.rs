//! `initialize`, and what may pass before it, on the client's side of either version.

mod support;

use acp_core::options::{Options, Role};
use acp_core::version::Refusal;
use support::{ANSWER_V2, Side, result};

const PARAMS: &str = r#"{"protocolVersion":2,"info":{"name":"ed","version":"3"}}"#;
const ANSWER_V1: &str = r#"{"protocolVersion":1,"agentCapabilities":{}}"#;

fn client() -> Side {
    Side::new(Options { version: 2, ..Options::new(Role::Client) })
}

/// A client of version 1 that holds itself and its peer to the rules.
fn strict() -> Side {
    Side::client()
}

fn lax() -> Side {
    Side::new(Options { lax: true, ..Options::new(Role::Client) })
}

/// Sends an `initialize` and returns its id.
fn ask(side: &mut Side) -> i64 {
    let id = side.ask_with("initialize", PARAMS);
    side.sent();
    id
}

/// What the caller is told of a result.
fn answered(side: &mut Side, id: i64, text: &str) -> String {
    let events = side.line(result(&id.to_string(), text));
    events.join("").replace(&format!("response {id} initialize "), "")
}

fn sentence_of(refusal: &Refusal) -> String {
    assert_eq!(refusal.code(), -32600);
    assert_eq!(refusal.message(), "Invalid request");
    let sentence = refusal.sentence().unwrap_or_default().into_owned();
    assert_eq!(refusal.data(), Some(format!("\"{sentence}\"")));
    sentence
}

fn too_early(method: &str) -> String {
    format!("ACP initialization must complete before `{method}` can be used")
}

const TOO_LATE: &str =
    "ACP initialization cannot be repeated after any other request; reconnect to initialize again";
const IN_PROGRESS: &str = "ACP initialization is already in progress on this connection";
const DIRECTION: &str = "ACP clients send `initialize` requests and ACP agents respond to them";

/// C-166
#[test]
fn initialize_asks_for_the_version_of_the_connection_whatever_its_caller_wrote() {
    let rest = r#""info":{"version":"3","name":"ed"},"_x":[1.50],"capabilities":{},"a":1"#;
    for version in [1, 2] {
        for params in [
            format!(r#"{{"protocolVersion":{version},{rest}}}"#),
            format!(r#"{{"protocolVersion":9,{rest}}}"#),
            format!("{{{rest}}}"),
            format!(r#"{{{rest},"protocolVersion":"x"}}"#),
        ] {
            let mut side = Side::new(Options { version, ..Options::new(Role::Client) });
            assert_eq!(side.try_to_ask("initialize", &params), Ok(0));
            assert_eq!(
                side.sent(),
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\
                     \"params\":{{\"protocolVersion\":{version},{rest}}}}}\n"
                )
            );
        }
    }
    let mut side = strict();
    side.ask("initialize");
    assert!(side.sent().ends_with("\"params\":{\"protocolVersion\":1}}\n"));
}

/// C-166
#[test]
fn an_initialize_that_could_only_be_refused_is_not_sent() {
    let mut side = client();
    for params in ["{}", r#"{"info":{"name":"ed"}}"#, r#"{"clientInfo":{}}"#] {
        let refusal = side.try_to_ask("initialize", params).unwrap_err();
        assert!(matches!(&refusal, Refusal::Unfit(faults) if faults.len() == 1), "{params}");
        assert_eq!((refusal.code(), &*refusal.message()), (-32602, "Invalid params"));
    }
    assert_eq!(side.try_to_ask("initialize", "[]"), Err(Refusal::BadVersion));
    assert_eq!(side.sent(), "");
    assert_eq!(side.connection.pending().count(), 0);
    assert_eq!(ask(&mut side), 0, "no id was used, and none is in progress");
}

/// C-167, C-173
#[test]
fn before_initialization_nothing_else_is_sent() {
    let mut side = client();
    for opening in [false, true] {
        if opening {
            ask(&mut side);
        }
        for method in ["session/new", "_x", "authenticate"] {
            let refusal = side.try_to_ask(method, "{}").unwrap_err();
            assert_eq!(sentence_of(&refusal), too_early(method));
        }
        let refusal = side.try_to_tell("session/cancel", "{}").unwrap_err();
        assert_eq!(sentence_of(&refusal), too_early("session/cancel"));
        let cancel = side.try_to_tell("$/cancel_request", r#"{"requestId":0}"#);
        assert_eq!(cancel.is_ok(), opening);
        assert_eq!(side.sent().lines().count(), usize::from(opening));
    }
    assert_eq!(answered(&mut side, 0, ANSWER_V2), format!("result {ANSWER_V2}"));
    assert!(side.connection.initialized());
    assert_eq!(side.try_to_ask("session/new", "{}"), Ok(1), "no id was used");
    side.tell("session/cancel", "{}");
}

/// C-167, C-108
#[test]
fn an_initialize_can_be_cancelled_and_given_up_and_tried_again() {
    let mut side = client();
    ask(&mut side);
    assert!(side.connection.cancel(0));
    assert_eq!(
        side.sent(),
        "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{\"requestId\":0}}\n"
    );
    assert!(side.connection.forget(0));
    assert!(!side.connection.forget(0));
    assert_eq!(ask(&mut side), 1);
    assert_eq!(side.line(result("0", ANSWER_V2)), [""; 0], "nobody waits for it any more");
    assert!(!side.connection.initialized());
    answered(&mut side, 1, ANSWER_V2);
    assert!(side.connection.initialized());
}

/// C-168, C-178
#[test]
fn a_peer_that_chooses_version_1_is_told_from_a_success_and_its_answer_is_kept() {
    let mut side = client();
    let id = ask(&mut side);
    let answer = r#"{"agentCapabilities":{"loadSession":true},"protocolVersion":1,"_x":1}"#;
    assert_eq!(answered(&mut side, id, answer), format!("mismatch 1 {answer}"));
    assert!(!side.connection.initialized());
    assert_eq!(
        sentence_of(&Refusal::OtherVersion { required: 2, selected: 1 }),
        "required ACP protocol version 2 but peer negotiated 1; \
         use a matching implementation for the negotiated protocol version"
    );
    let refusal = side.try_to_ask("session/new", "{}").unwrap_err();
    assert_eq!(sentence_of(&refusal), too_early("session/new"));
    assert_eq!(side.sent(), "");
    let id = ask(&mut side);
    answered(&mut side, id, ANSWER_V2);
    assert!(side.connection.initialized(), "it may be tried again");
}

/// C-169, C-179
#[test]
fn a_peer_that_chooses_a_version_that_nobody_knows_is_told_from_a_success() {
    for version in [0, 3, 7, 65535] {
        let mut side = client();
        let id = ask(&mut side);
        let answer = ANSWER_V2.replace('2', &version.to_string());
        assert_eq!(answered(&mut side, id, &answer), format!("mismatch {version} {answer}"));
        assert!(!side.connection.initialized());
        assert_eq!(
            sentence_of(&Refusal::OtherVersion { required: 2, selected: version }),
            format!(
                "unsupported ACP protocol version {version}; \
                 this endpoint only supports ACP protocol version 2"
            )
        );
    }
}

/// C-170
#[test]
fn a_failure_leaves_a_client_uninitialized_and_it_may_try_again() {
    let mut side = client();
    for (answer, told) in [
        (r#""error":{"code":-32022,"message":"m"}"#, "error -32022 m"),
        (r#""error":7"#, "malformed"),
        (r#""result":{},"error":1"#, "malformed"),
        (r#""result":null"#, "result null"),
        (r#""result":{}"#, "result {}"),
        (r#""result":{"protocolVersion":2}"#, r#"result {"protocolVersion":2}"#),
        (
            r#""result":{"protocolVersion":"2","info":{"name":"a","version":"1"}}"#,
            r#"result {"protocolVersion":"2","info":{"name":"a","version":"1"}}"#,
        ),
        (
            r#""result":{"protocolVersion":65536,"info":{"name":"a","version":"1"}}"#,
            r#"result {"protocolVersion":65536,"info":{"name":"a","version":"1"}}"#,
        ),
    ] {
        let id = ask(&mut side);
        let seen = side.line(format!(r#"{{"id":{id},{answer}}}"#));
        assert_eq!(seen, [format!("response {id} initialize {told}")]);
        assert!(!side.connection.initialized(), "{answer}");
        let refusal = side.try_to_ask("session/new", "{}").unwrap_err();
        assert_eq!(sentence_of(&refusal), too_early("session/new"));
    }
    let id = ask(&mut side);
    answered(&mut side, id, ANSWER_V2);
    assert!(side.connection.initialized());
    side.ask("session/new");
}

/// C-170
#[test]
fn an_answer_that_cannot_be_kept_leaves_a_client_uninitialized_and_it_may_try_again() {
    let options =
        Options { version: 2, max_message_bytes: 300, max_depth: 4, ..Options::new(Role::Client) };
    let long = format!(r#"{{"protocolVersion":2,"x":"{}"}}"#, "x".repeat(300));
    for broken in [long.as_str(), r#"{"protocolVersion":2,"x":[[[[[1]]]]]}"#, r#"{"x":}"#] {
        let mut side = Side::new(options.clone());
        let id = ask(&mut side);
        assert_eq!(answered(&mut side, id, broken), "malformed", "{broken}");
        assert!(!side.connection.initialized());
        let id = ask(&mut side);
        answered(&mut side, id, ANSWER_V2);
        assert!(side.connection.initialized());
    }
}

/// C-163, C-176
#[test]
fn a_client_has_one_initialize_at_a_time() {
    let mut side = client();
    ask(&mut side);
    let refusal = side.try_to_ask("initialize", PARAMS).unwrap_err();
    assert_eq!(sentence_of(&refusal), IN_PROGRESS);
    assert_eq!(side.sent(), "");
    answered(&mut side, 0, ANSWER_V2);
    assert_eq!(ask(&mut side), 1, "and may repeat it");
    let refusal = side.try_to_ask("session/new", "{}").unwrap_err();
    assert_eq!(sentence_of(&refusal), too_early("session/new"));
    side.tell("_x", "{}");
    side.line(r#"{"id":1,"error":{"code":1,"message":"m"}}"#);
    assert!(side.connection.initialized(), "one that fails takes nothing back");
    assert_eq!(side.try_to_ask("session/new", "{}"), Ok(2));
}

/// C-164, C-177
#[test]
fn a_client_repeats_initialize_until_it_sends_another_request() {
    let mut side = client();
    // One that was refused does not count, nor do notifications and answers.
    side.try_to_ask("_x", "{}").unwrap_err();
    for _ in 0..3 {
        let id = ask(&mut side);
        answered(&mut side, id, ANSWER_V2);
        side.tell("_x", "{}");
        side.line(r#"{"id":"q","method":"session/request_permission"}"#);
        let last = side.tokens.len() - 1;
        side.answer(last, "{}");
    }
    side.ask("session/new");
    side.sent();
    let refusal = side.try_to_ask("initialize", PARAMS).unwrap_err();
    assert_eq!(sentence_of(&refusal), TOO_LATE);
    assert_eq!(side.sent(), "");
    assert!(side.connection.initialized());

    let options = Options { version: 2, allow_reinitialize: false, ..Options::new(Role::Client) };
    let mut side = Side::new(options);
    let id = ask(&mut side);
    side.line(format!(r#"{{"id":{id},"error":{{"code":1,"message":"m"}}}}"#));
    let id = ask(&mut side);
    answered(&mut side, id, ANSWER_V2);
    let refusal = side.try_to_ask("initialize", PARAMS).unwrap_err();
    assert_eq!(sentence_of(&refusal), TOO_LATE);
}

/// C-171, C-182
#[test]
fn a_client_does_not_serve_initialize() {
    let mut side = client();
    for ready in [false, true] {
        if ready {
            let id = ask(&mut side);
            answered(&mut side, id, ANSWER_V2);
        }
        let line = format!(r#"{{"id":5,"method":"initialize","params":{PARAMS}}}"#);
        for line in [line.as_str(), r#"{"id":5,"method":"initialize","params":[]}"#] {
            assert_eq!(side.line(line), [""; 0]);
            assert_eq!(
                side.sent(),
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{{\"code\":-32600,\
                     \"message\":\"Invalid request\",\"data\":\"{DIRECTION}\"}}}}\n"
                )
            );
            assert_eq!(side.connection.initialized(), ready);
        }
    }
}

/// C-173
#[test]
fn before_initialization_a_client_serves_nothing() {
    let mut side = client();
    for opening in [false, true] {
        if opening {
            ask(&mut side);
        }
        let ask = r#"{"id":"q","method":"session/request_permission","params":{}}"#;
        assert_eq!(side.line(ask), [""; 0]);
        assert_eq!(
            side.sent(),
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"error\":{{\"code\":-32600,\
                 \"message\":\"Invalid request\",\"data\":\"{}\"}}}}\n",
                too_early("session/request_permission")
            )
        );
        assert_eq!(side.line(r#"{"method":"session/update","params":{"sessionId":"s"}}"#), [""; 0]);
        assert_eq!(side.sent(), "");
    }
    // What comes behind the answer is served, also in one chunk with it.
    let chunk = format!("{}\n{{\"method\":\"_x\"}}\n", result("0", ANSWER_V2));
    assert_eq!(side.feed(chunk).len(), 2);
}

/// C-180
#[test]
fn an_answer_to_an_initialize_that_nobody_sent_is_ignored() {
    for mut side in [client(), strict(), lax()] {
        assert_eq!(side.line(result("0", ANSWER_V2)), ["rejected response silent"]);
        assert!(!side.connection.initialized());
        ask(&mut side);
        assert_eq!(side.line(result("\"0\"", ANSWER_V2)), ["rejected response silent"]);
        assert!(!side.connection.initialized());
        assert_eq!(side.sent(), "");
    }
}

/// C-166, C-178, C-179
#[test]
fn a_strict_client_of_version_1_takes_version_1_only() {
    let mut side = strict();
    for (answer, told) in [
        (ANSWER_V2.to_owned(), format!("mismatch 2 {ANSWER_V2}")),
        (r#"{"protocolVersion":0}"#.to_owned(), r#"mismatch 0 {"protocolVersion":0}"#.to_owned()),
        (r#"{"protocolVersion":"1"}"#.to_owned(), r#"result {"protocolVersion":"1"}"#.to_owned()),
        ("{}".to_owned(), "result {}".to_owned()),
    ] {
        let id = ask(&mut side);
        assert_eq!(answered(&mut side, id, &answer), told);
        assert!(!side.connection.initialized());
    }
    let id = ask(&mut side);
    assert_eq!(answered(&mut side, id, ANSWER_V1), format!("result {ANSWER_V1}"));
    assert!(side.connection.initialized());
    assert_eq!(
        sentence_of(&Refusal::OtherVersion { required: 1, selected: 2 }),
        "required ACP protocol version 1 but peer negotiated 2; \
         use a matching implementation for the negotiated protocol version"
    );
    assert_eq!(
        sentence_of(&Refusal::OtherVersion { required: 1, selected: 7 }),
        "unsupported ACP protocol version 7; this endpoint only supports ACP protocol version 1"
    );
}

/// C-155: what version 2 asks of both sides, version 1 does not.
#[test]
fn a_client_of_version_1_may_send_and_serve_at_any_time() {
    let mut side = strict();
    side.ask("session/new");
    side.tell("session/cancel", "{}");
    let (first, second) = (ask(&mut side), ask(&mut side));
    answered(&mut side, second, ANSWER_V1);
    answered(&mut side, first, ANSWER_V1);
    assert_eq!(side.line(r#"{"method":"n"}"#), ["notification n"]);
    assert_eq!(side.line(r#"{"id":1,"method":"initialize"}"#), ["request id=1 initialize"]);
    ask(&mut side);
}

/// C-152
#[test]
fn a_client_of_the_compatibility_profile_sends_what_it_is_given_and_takes_what_comes() {
    for params in [r#"{ "protocolVersion":2}"#, "{}", "[]"] {
        for answer in [ANSWER_V2, ANSWER_V1, "{}", "null", r#"{"protocolVersion":"1"}"#] {
            let mut side = lax();
            side.ask_with("initialize", params);
            assert!(side.sent().ends_with(&format!(",\"params\":{params}}}\n")));
            assert_eq!(answered(&mut side, 0, answer), format!("result {answer}"));
            assert!(side.connection.initialized());
        }
    }
}

/// C-156
#[test]
fn without_the_guard_a_client_sends_and_takes_anything() {
    for version in [1, 2] {
        let options = Options { version, guard: false, ..Options::new(Role::Client) };
        let mut side = Side::new(options);
        side.ask("session/new");
        side.tell("_x", "{}");
        side.ask_with("initialize", "[7]");
        assert!(side.sent().ends_with(",\"params\":[7]}\n"));
        side.ask("initialize");
        assert_eq!(answered(&mut side, 1, "7"), "result 7");
        assert!(side.connection.initialized());
        assert_eq!(side.line(r#"{"id":1,"method":"initialize"}"#), ["request id=1 initialize"]);
    }
}
