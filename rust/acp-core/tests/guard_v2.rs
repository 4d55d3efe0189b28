//! `initialize`, and what may pass before it, on the agent's side of version 2.

mod support;

use acp_core::connection::Answered;
use acp_core::options::{Options, Role};
use acp_core::version::Refusal;
use support::{ANSWER_V2, Side, error, initialize_v2 as initialize, result};

const INFO: &str = r#","info":{"name":"ed","version":"3"}"#;
const NEW: &str = r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{}}"#;
const NOTE: &str = r#"{"jsonrpc":"2.0","method":"_x/note"}"#;

fn agent() -> Side {
    Side::new(Options { version: 2, ..Options::new(Role::Agent) })
}

fn seed_agent() -> Side {
    let options = Options { version: 2, allow_reinitialize: false, ..Options::new(Role::Agent) };
    Side::new(options)
}

/// The params that a handler sees.
fn seen(side: &mut Side, version: u16, rest: &str) -> Option<String> {
    let events = side.line(initialize(version, rest));
    assert!(events.len() <= 1, "{events:?}");
    events.first()?.strip_prefix("request id=1 initialize ").map(str::to_owned)
}

/// An error with data, as it leaves on a line.
fn refused(id: &str, code: i32, message: &str, data: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":\
         {{\"code\":{code},\"message\":\"{message}\",\"data\":{data}}}}}\n"
    )
}

fn invalid_with(id: &str, sentence: &str) -> String {
    refused(id, -32600, "Invalid request", &format!("\"{sentence}\""))
}

fn too_early(id: &str, method: &str) -> String {
    invalid_with(id, &format!("ACP initialization must complete before `{method}` can be used"))
}

fn in_progress() -> String {
    invalid_with("1", "ACP initialization is already in progress on this connection")
}

fn too_late() -> String {
    invalid_with(
        "1",
        "ACP initialization cannot be repeated after any other request; \
         reconnect to initialize again",
    )
}

fn unsupported(requested: u16) -> String {
    let data = format!(r#"{{"requested":{requested},"supported":[2]}}"#);
    refused("1", -32022, "Unsupported protocol version", &data)
}

/// Initializes by the request that is seen as the `at`-th.
fn initialize_as(side: &mut Side, at: usize) {
    assert!(seen(side, 2, INFO).is_some());
    assert_eq!(side.try_to_answer(at, ANSWER_V2), Answered::Sent);
    assert_eq!(side.sent(), result("1", ANSWER_V2) + "\n");
}

/// C-157, C-175
#[test]
fn a_version_below_2_is_refused_with_what_is_served_and_no_handler_runs() {
    for version in [0, 1] {
        for rest in ["", INFO, r#","info":7,"clientCapabilities":{}"#] {
            let mut side = agent();
            assert_eq!(seen(&mut side, version, rest), None, "{rest}");
            assert_eq!(side.sent(), unsupported(version));
            assert!(!side.connection.initialized());
            assert_eq!(side.connection.in_flight(), 0);
            initialize_as(&mut side, 0);
        }
    }
}

/// C-158, C-174
#[test]
fn a_version_that_cannot_be_read_is_refused_and_no_handler_runs() {
    for params in [
        "null",
        "{}",
        "[2]",
        r#"{"protocolVersion":null}"#,
        r#"{"protocolVersion":"2"}"#,
        r#"{"protocolVersion":2.0}"#,
        r#"{"protocolVersion":-2}"#,
        r#"{"protocolVersion":65536}"#,
        r#"{"protocolVersion":2,"protocolVersion":"2"}"#,
    ] {
        // The compatibility profile is one of version 1.
        for lax in [false, true] {
            let mut side = Side::new(Options { version: 2, lax, ..Options::new(Role::Agent) });
            let line = format!(r#"{{"id":1,"method":"initialize","params":{params}}}"#);
            assert_eq!(side.line(line), [""; 0], "{params}");
            let sentence = "\"initialize.protocolVersion must be a valid ACP protocol version\"";
            assert_eq!(side.sent(), refused("1", -32602, "Invalid params", sentence));
            assert_eq!(side.connection.counters().refused, 1);
            initialize_as(&mut side, 0);
        }
    }
}

/// C-158
#[test]
fn params_of_version_2_have_to_fit_it_and_are_refused_by_place_and_rule() {
    let fault = |loc: &str, kind: &str, message: &str| {
        format!(r#"[{{"loc":[{loc}],"type":"{kind}","message":"{message}"}}]"#)
    };
    let missing = |loc: &str| fault(loc, "missing", "a required member is missing");
    for (rest, data) in [
        ("", missing("\"info\"")),
        (r#","clientInfo":{"name":"ed","version":"3"}"#, missing("\"info\"")),
        (r#","info":{"name":"ed"}"#, missing(r#""info","version""#)),
        (r#","info":null"#, fault("\"info\"", "object_type", "must be an object")),
        (
            r#","info":{"name":7,"version":"secret"}"#,
            fault(r#""info","name""#, "string_type", "must be a string"),
        ),
    ] {
        let mut side = agent();
        assert_eq!(seen(&mut side, 2, rest), None, "{rest}");
        assert_eq!(side.sent(), refused("1", -32602, "Invalid params", &data));
        assert!(!side.connection.initialized());
        initialize_as(&mut side, 0);
    }
}

/// C-165, C-158
#[test]
fn params_of_version_2_are_handed_on_as_they_are() {
    let rest = concat!(
        r#" , "info" : {"version":"3","name":"ed","more":[1.50]},"#,
        r#""capabilities":{"unknown":{"a":null},"auth":7},"_x":1,"_meta":{"t":"é"}"#
    );
    let params = seen(&mut agent(), 2, rest).unwrap();
    assert_eq!(params, format!(r#"{{"protocolVersion":2{rest}}}"#));
}

/// C-159, C-165
#[test]
fn of_params_of_a_later_version_what_fits_is_kept() {
    for version in [3, 99, 65535] {
        let params = seen(
            &mut agent(),
            version,
            concat!(
                r#","info":{"version":"3","name":"ed","title":"Ed","_meta":{"a":1},"more":1},"#,
                r#""capabilities":{"auth":{"terminal":{},"later":{}},"elicitation":7,"later":{"x":1},"_meta":{"c":3}},"#,
                r#""clientCapabilities":{"terminal":true},"later":[],"_meta":{"d":4}"#
            ),
        );
        assert_eq!(
            params.unwrap(),
            concat!(
                r#"{"protocolVersion":2,"info":{"name":"ed","title":"Ed","version":"3","_meta":{"a":1}},"#,
                r#""capabilities":{"auth":{"terminal":{}},"_meta":{"c":3}},"_meta":{"d":4}}"#
            )
        );
    }
}

/// C-159
#[test]
fn a_client_of_a_later_version_that_cannot_be_read_is_unknown() {
    let unknown =
        r#"{"protocolVersion":2,"info":{"name":"unknown","version":"unknown"},"capabilities":{}"#;
    for (rest, more) in [
        ("", ""),
        (r#","info":{"name":"ed"},"capabilities":null,"_meta":[]"#, ""),
        (r#","info":{"name":"ed","version":3},"capabilities":7"#, ""),
        (r#","info":"ed","_meta":{"a":1}"#, r#","_meta":{"a":1}"#),
    ] {
        let mut side = agent();
        assert_eq!(seen(&mut side, 3, rest).unwrap(), format!("{unknown}{more}}}"), "{rest}");
        side.answer(0, ANSWER_V2);
        assert_eq!(side.sent(), result("1", ANSWER_V2) + "\n");
    }
}

/// C-160
#[test]
fn the_answer_names_version_2_whatever_the_handler_wrote() {
    let rest = r#""info":{"name":"a","version":"1"},"_x":[1.0]"#;
    for written in [
        format!("{{{rest}}}"),
        format!(r#"{{"protocolVersion":1,{rest}}}"#),
        format!(r#"{{{rest},"protocolVersion":"x"}}"#),
    ] {
        let mut side = agent();
        seen(&mut side, 2, INFO).unwrap();
        assert_eq!(side.try_to_answer(0, &written), Answered::Sent);
        let sent = format!(r#"{{"protocolVersion":2,{rest}}}"#);
        assert_eq!(side.sent(), result("1", &sent) + "\n", "{written}");
        assert!(side.connection.initialized());
    }
}

/// C-160
#[test]
fn an_answer_that_does_not_fit_becomes_an_error_and_initialization_can_be_tried_again() {
    for written in [
        "null",
        "[]",
        "{}",
        r#"{"protocolVersion":2,"agentInfo":{"name":"a","version":"1"}}"#,
        r#"{"protocolVersion":2,"info":{"name":"a"}}"#,
    ] {
        let mut side = agent();
        seen(&mut side, 2, INFO).unwrap();
        let answered = side.try_to_answer(0, written);
        assert!(matches!(&answered, Answered::Unfit(faults) if faults.len() == 1), "{written}");
        assert_eq!(side.sent(), error("1", -32603, "Internal error") + "\n");
        assert_eq!(side.try_to_answer(0, ANSWER_V2), Answered::Before);
        assert!(!side.connection.initialized());
        assert_eq!(side.line(NEW), [""; 0]);
        assert_eq!(side.sent(), too_early("2", "session/new"));
        initialize_as(&mut side, 1);
        assert!(side.is_alive());
    }
}

/// C-161: a request that is given up is answered with an error, too, by whoever finds out.
#[test]
fn an_initialize_that_fails_leaves_nothing_behind_and_can_be_tried_again() {
    let mut side = agent();
    for round in 0..2 {
        seen(&mut side, 2, INFO).unwrap();
        assert!(side.fail(round, -32603));
        assert_eq!(side.sent(), error("1", -32603, "no") + "\n");
        assert!(!side.connection.initialized());
        assert_eq!(side.line(NEW), [""; 0]);
        assert_eq!(side.sent(), too_early("2", "session/new"));
    }
    initialize_as(&mut side, 2);
    assert!(side.is_alive());
}

/// C-162, C-173
#[test]
fn before_initialization_requests_are_refused_and_notifications_ignored() {
    let mut side = agent();
    assert_eq!(side.line(NEW), [""; 0]);
    assert_eq!(side.line(r#"{"id":"q","method":"_x"}"#), [""; 0]);
    assert_eq!(side.line(r#"{"id":3,"method":"tool_call/cancel"}"#), [""; 0]);
    assert_eq!(
        side.sent(),
        too_early("2", "session/new")
            + &too_early("\"q\"", "_x")
            + &too_early("3", "tool_call/cancel")
    );
    for line in [NOTE, r#"{"method":"session/cancel","params":{"sessionId":"s"}}"#] {
        assert_eq!(side.line(line), [""; 0]);
        assert_eq!(side.line(format!("[{line}]")), [""; 0]);
    }
    assert_eq!(side.sent(), "");
    assert_eq!(side.connection.open_batches(), 0);
    assert_eq!(side.connection.counters().early_notifications, 4);
    assert_eq!(side.connection.counters().refused, 3);
    initialize_as(&mut side, 0);
    assert_eq!(side.line(NOTE), ["notification _x/note"]);
    assert!(side.is_alive());
}

/// C-162, C-108
#[test]
fn while_initialize_is_unanswered_it_can_be_cancelled_and_notifications_are_ignored() {
    let mut side = agent();
    seen(&mut side, 2, INFO).unwrap();
    assert_eq!(side.line(NOTE), [""; 0]);
    let cancel =
        |id: &str| format!(r#"{{"method":"$/cancel_request","params":{{"requestId":{id}}}}}"#);
    assert_eq!(side.line(cancel("7")), [""; 0]);
    assert_eq!(side.line(cancel("1")), ["cancelled id=1"]);
    assert!(side.connection.is_cancelled(side.tokens[0]));
    assert_eq!(side.sent(), "");
    assert!(side.fail(0, -32800));
    assert!(!side.connection.initialized());
    side.sent();
    initialize_as(&mut side, 1);
}

/// C-162, C-051: requests that are read while `initialize` is unanswered are judged when they are about to be served.
#[test]
fn a_request_behind_initialize_is_served_only_when_that_succeeds() {
    for succeeds in [true, false] {
        let mut side = agent();
        assert_eq!(side.feed(format!("{}\n{NEW}\n", initialize(2, INFO))).len(), 2);
        if succeeds {
            side.answer(0, ANSWER_V2);
        } else {
            side.answer(0, "{}");
        }
        side.sent();
        assert_eq!(side.connection.admit(side.tokens[1]), succeeds);
        let sent = if succeeds { String::new() } else { too_early("2", "session/new") };
        assert_eq!(side.sent(), sent);
        assert_eq!(side.answer(1, "{}"), succeeds);
    }
}

/// C-051, C-052
#[test]
fn initialize_may_come_in_an_array() {
    let first = initialize(2, INFO);
    let mut side = agent();
    assert_eq!(side.line(format!("[{first},{NEW},{NOTE}]")).len(), 2);
    side.answer(0, ANSWER_V2);
    assert!(side.connection.admit(side.tokens[1]));
    side.answer(1, "{}");
    let replies = [result("1", ANSWER_V2), result("2", "{}")];
    assert_eq!(side.sent(), format!("[{}]\n", replies.join(",")));
    let mut side = agent();
    assert_eq!(side.line(format!("[{NEW},{first}]")).len(), 1);
    side.answer(0, ANSWER_V2);
    let replies = [too_early("2", "session/new").trim_end().to_owned(), result("1", ANSWER_V2)];
    assert_eq!(side.sent(), format!("[{}]\n", replies.join(",")));
    assert!(side.is_alive());
}

/// C-163, C-176
#[test]
fn a_second_initialize_while_the_first_is_unanswered_is_refused() {
    let mut side = agent();
    seen(&mut side, 2, INFO).unwrap();
    assert_eq!(seen(&mut side, 3, ""), None);
    assert_eq!(side.sent(), in_progress());
    // What is wrong with it is said first.
    assert_eq!(seen(&mut side, 1, INFO), None);
    assert_eq!(side.sent(), unsupported(1));
    assert!(side.answer(0, ANSWER_V2), "the first one goes on");
    assert!(side.connection.initialized());
    assert!(side.is_alive());
}

/// C-164
#[test]
fn initialize_may_be_repeated_until_another_request_is_accepted() {
    let mut side = agent();
    // A request that was refused does not count.
    side.line(NEW);
    side.sent();
    for round in 0..3 {
        initialize_as(&mut side, round);
        // Neither do notifications, answers, and what is no request.
        side.line(NOTE);
        side.line(r#"{"id":9,"result":1}"#);
        side.line(r#"{"id":1.5,"method":"m"}"#);
        side.line(r#"{"id":null,"method":"m"}"#);
        side.ask("session/request_permission");
        side.sent();
    }
    assert_eq!(side.line(NEW), ["request id=2 session/new {}"]);
    assert_eq!(seen(&mut side, 2, INFO), None, "though it is unanswered");
    assert_eq!(side.sent(), too_late());
    side.fail(3, -32601);
    side.sent();
    assert_eq!(seen(&mut side, 3, INFO), None, "though it failed");
    assert_eq!(side.sent(), too_late());
    assert!(side.connection.initialized());
    assert!(side.is_alive());
}

/// C-164
#[test]
fn a_request_that_came_behind_the_first_initialize_ends_the_time_for_repetitions() {
    let mut side = agent();
    side.feed(format!("{}\n{NEW}\n", initialize(2, INFO)));
    side.answer(0, ANSWER_V2);
    side.sent();
    assert_eq!(seen(&mut side, 2, INFO), None);
    assert_eq!(side.sent(), too_late());
    assert!(side.connection.admit(side.tokens[1]));
}

/// C-164
#[test]
fn a_repetition_that_fails_keeps_what_was_there() {
    let mut side = agent();
    initialize_as(&mut side, 0);
    // Three repetitions of which no handler knows, and two that a handler fails.
    for (version, rest) in [(1, INFO), (0, ""), (2, "")] {
        assert_eq!(seen(&mut side, version, rest), None);
        side.sent();
        assert!(side.connection.initialized());
    }
    seen(&mut side, 2, INFO).unwrap();
    side.fail(1, -32603);
    seen(&mut side, 2, INFO).unwrap();
    side.answer(2, "{}");
    assert!(side.connection.initialized());
    side.sent();
    initialize_as(&mut side, 3);
    assert_eq!(side.line(NEW), ["request id=2 session/new {}"]);
}

/// C-164
#[test]
fn while_a_repetition_is_unanswered_the_connection_stays_initialized() {
    let mut side = agent();
    initialize_as(&mut side, 0);
    seen(&mut side, 2, INFO).unwrap();
    assert_eq!(seen(&mut side, 2, INFO), None);
    assert_eq!(side.sent(), in_progress());
    assert_eq!(side.line(NOTE), ["notification _x/note"]);
    assert_eq!(side.line(NEW), ["request id=2 session/new {}"]);
    assert!(side.connection.admit(side.tokens[2]));
    side.fail(1, -32603);
    assert!(side.connection.admit(side.tokens[2]), "also when it fails");
    side.sent();
    assert_eq!(seen(&mut side, 2, INFO), None, "a request was accepted meanwhile");
    assert_eq!(side.sent(), too_late());
}

/// C-164, C-177
#[test]
fn where_it_is_not_allowed_no_repetition_follows_a_success() {
    let mut side = seed_agent();
    seen(&mut side, 2, INFO).unwrap();
    side.fail(0, -32603);
    side.sent();
    initialize_as(&mut side, 1);
    assert_eq!(seen(&mut side, 2, INFO), None);
    assert_eq!(side.sent(), too_late());
    assert_eq!(seen(&mut side, 1, INFO), None);
    assert_eq!(side.sent(), unsupported(1));
    assert!(side.is_alive());
}

/// C-171, C-182
#[test]
fn an_agent_does_not_send_initialize() {
    let mut side = agent();
    let params = format!(r#"{{"protocolVersion":2{INFO}}}"#);
    for _ in 0..2 {
        let refusal = side.try_to_ask("initialize", &params).unwrap_err();
        assert_eq!(refusal, Refusal::Direction);
        assert_eq!(refusal.code(), -32600);
        assert_eq!(
            refusal.sentence().unwrap(),
            "ACP clients send `initialize` requests and ACP agents respond to them"
        );
        assert_eq!(side.sent(), "");
        initialize_as(&mut side, 0);
        side.tokens.clear();
    }
}

/// C-167, C-173: an agent sends nothing before initialization either.
#[test]
fn an_agent_sends_only_its_answer_before_initialization() {
    let mut side = agent();
    for opening in [false, true] {
        if opening {
            seen(&mut side, 2, INFO).unwrap();
        }
        let sentence = "ACP initialization must complete before `_x` can be used";
        let refusal = side.try_to_ask("_x", "{}").unwrap_err();
        assert_eq!((refusal.code(), refusal.sentence().as_deref()), (-32600, Some(sentence)));
        let refusal = side.try_to_tell("_x", "{}").unwrap_err();
        assert_eq!((refusal.code(), refusal.sentence().as_deref()), (-32600, Some(sentence)));
        assert_eq!(side.sent(), "");
        assert_eq!(side.connection.pending().count(), 0);
    }
    side.answer(0, ANSWER_V2);
    side.sent();
    assert_eq!(side.try_to_ask("_x", "{}"), Ok(0), "no id was used");
    side.tell("_y", "{}");
    // Its own requests are no reason to refuse a repetition, nor is that one to refuse them.
    side.sent();
    seen(&mut side, 2, INFO).unwrap();
    side.tell("_y", "{}");
    assert_eq!(side.try_to_ask("_x", "{}"), Ok(1));
}

/// C-181
#[test]
fn the_answer_to_an_initialize_that_was_not_received_goes_nowhere() {
    let mut side = agent();
    side.tokens.push(acp_core::id::Token::new(1));
    assert_eq!(side.try_to_answer(0, ANSWER_V2), Answered::Before);
    assert!(!side.fail(0, -32603));
    assert_eq!(side.line(result("1", ANSWER_V2)), ["rejected response silent"]);
    assert_eq!(side.sent(), "");
    assert!(!side.connection.initialized());
}

/// C-186, C-023
#[test]
fn initialize_with_a_null_id_is_refused_and_changes_nothing() {
    let mut side = agent();
    let line = initialize(2, INFO).replace("\"id\":1", "\"id\":null");
    assert_eq!(side.line(line), ["rejected id answered"]);
    let sentence = "ACP protocol v2 request ids must be a string or an integer, not null";
    assert_eq!(side.sent(), invalid_with("null", sentence));
    assert!(!side.connection.initialized());
    initialize_as(&mut side, 0);
}

/// C-023: the version is not settled then, so that version 1 may be spoken.
#[test]
fn without_the_guard_nothing_is_refused_and_nothing_is_changed() {
    let mut side = Side::new(Options { version: 2, guard: false, ..Options::new(Role::Agent) });
    assert_eq!(side.line(r#"{"id":null,"method":"_x"}"#), ["request id=null _x"]);
    assert_eq!(side.line(NOTE), ["notification _x/note"]);
    let params = r#"{"protocolVersion":"x"}"#;
    let line = format!(r#"{{"id":1,"method":"initialize","params":{params}}}"#);
    for at in [1, 2] {
        assert_eq!(side.line(&line), [format!("request id=1 initialize {params}")]);
        assert_eq!(side.try_to_answer(at, "7"), Answered::Sent);
        assert_eq!(side.sent(), result("1", "7") + "\n");
    }
    assert_eq!(side.try_to_ask("initialize", "[]"), Ok(0));
    assert!(side.is_alive());
}

#[test]
fn initialize_of_the_successor_is_not_ours() {
    let options = Options { version: 2, unwrap_successor: true, ..Options::new(Role::Agent) };
    let mut side = Side::new(options);
    let wrapped = |method: &str| {
        format!(
            r#"{{"id":1,"method":"proxy/successor","params":{{"method":"{method}","params":{{}}}}}}"#
        )
    };
    assert_eq!(side.line(wrapped("initialize")), ["request id=1 initialize {} from successor"]);
    assert_eq!(side.line(wrapped("_x")), ["request id=1 _x {} from successor"]);
    let note = wrapped("_y").replace("\"id\":1,", "");
    assert_eq!(side.line(note), ["notification _y {} from successor"]);
    assert!(!side.connection.initialized());
    assert_eq!(side.line(NEW), [""; 0]);
    assert_eq!(side.sent(), too_early("2", "session/new"));
}

/// C-032
#[test]
fn what_nobody_cancels_is_unknown_and_not_its_method() {
    let told = |side: &Side, method: &str, params: Option<&str>| {
        let refusal = side.connection.unhandled(method, params);
        (refusal.code(), refusal.message().into_owned(), refusal.data())
    };
    let not_found = |method: &str| {
        let data = format!(r#"{{"method":"{method}"}}"#);
        (-32601, "Method not found".to_owned(), Some(data))
    };
    let side = Side::ready(Role::Agent);
    for (method, what, name) in [
        ("tool_call/cancel", "tool call", "toolCallId"),
        ("terminal/cancel", "terminal", "terminalId"),
    ] {
        let message = format!("the {what} is unknown or not cancellable");
        let params = format!(r#"{{"sessionId":"s","{name}":"t\u00e9"}}"#);
        let data = format!(r#"{{"{name}":"t\u00e9"}}"#);
        assert_eq!(told(&side, method, Some(&params)), (-32602, message.clone(), Some(data)));
        for params in [None, Some("[]"), Some("{}"), Some(&*format!(r#"{{"{name}":7}}"#))] {
            assert_eq!(told(&side, method, params), (-32602, message.clone(), None));
        }
        let unguarded =
            Side::new(Options { version: 2, guard: false, ..Options::new(Role::Agent) });
        for other in [Side::agent(), unguarded, Side::ready(Role::Client), Side::client()] {
            assert_eq!(told(&other, method, Some(&params)), not_found(method));
        }
    }
    let gone = (-33001, "MCP server registration unavailable".to_owned(), None);
    for other in [&side, &Side::ready(Role::Client), &Side::client()] {
        assert_eq!(told(other, "mcp/message", Some("{}")), gone);
    }
    for other in [Side::agent(), Side::new(Options { guard: false, ..Options::new(Role::Client) })]
    {
        assert_eq!(told(&other, "mcp/message", Some("{}")), not_found("mcp/message"));
    }
    assert_eq!(
        told(&side, "_a\"b", None),
        (-32601, "Method not found".to_owned(), Some(r#"{"method":"_a\"b"}"#.to_owned()))
    );
}
