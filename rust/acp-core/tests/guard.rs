//! `initialize` on the agent's side of version 1.

mod support;

use acp_core::options::{Options, Role};
use support::{Side, invalid, result};

fn initialize(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#)
}

/// The params that a handler sees.
fn seen(side: &mut Side, params: &str) -> Option<String> {
    let events = side.line(initialize(params));
    let event = events.first()?;
    event.strip_prefix("request id=1 initialize ").map(str::to_owned)
}

fn required() -> Side {
    Side::new(Options { require_initialize: true, ..Options::new(Role::Agent) })
}

fn too_early(id: &str, method: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32600,"message":"Invalid request","data":"ACP initialization must complete before `{method}` can be used"}}}}"#
    )
}

/// C-151
#[test]
fn every_version_is_read_and_answered_as_1() {
    for version in ["0", "1", "2", "99", "65535"] {
        let mut side = Side::agent();
        let params = seen(&mut side, &format!(r#"{{"protocolVersion":{version}}}"#)).unwrap();
        assert!(params.contains(r#""protocolVersion":1"#), "{params}");
        assert!(side.answer(0, r#"{"agentInfo":{},"protocolVersion":7}"#));
        assert_eq!(side.sent(), result("1", r#"{"protocolVersion":1,"agentInfo":{}}"#) + "\n");
        assert!(side.connection.initialized());
    }
}

/// C-151
#[test]
fn params_of_version_1_are_handed_on_as_they_are() {
    let mut side = Side::agent();
    let params = r#"{ "clientCapabilities":{"terminal":true}, "protocolVersion" : 1, "x":[1.50] }"#;
    assert_eq!(seen(&mut side, params).unwrap(), params);
    let params = r#"{"a":1,"protocolVersion":0,"clientInfo":{},"protocolVersion":0}"#;
    let normal = r#"{"protocolVersion":1,"a":1,"clientInfo":{}}"#;
    assert_eq!(seen(&mut side, params).unwrap(), normal);
}

/// C-152, C-174
#[test]
fn a_version_that_cannot_be_read_is_refused_and_no_handler_runs() {
    for params in [
        "{}",
        "[1]",
        r#"{"protocolVersion":null}"#,
        r#"{"protocolVersion":"1"}"#,
        r#"{"protocolVersion":"2024-11-05"}"#,
        r#"{"protocolVersion":-1}"#,
        r#"{"protocolVersion":1.5}"#,
        r#"{"protocolVersion":1.0}"#,
        r#"{"protocolVersion":65536}"#,
        r#"{"protocolVersion":true}"#,
        r#"{"protocolVersion":1,"protocolVersion":"x"}"#,
        r#"{"protocolVersion":{}}"#,
    ] {
        let mut side = Side::agent();
        assert_eq!(side.line(initialize(params)), [""; 0], "{params}");
        assert_eq!(
            side.sent(),
            concat!(
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params","#,
                r#""data":"initialize.protocolVersion must be a valid ACP protocol version"}}"#,
                "\n"
            )
        );
        assert_eq!(side.connection.in_flight(), 0);
        assert!(seen(&mut side, r#"{"protocolVersion":1}"#).is_some(), "a retry works");
    }
    let mut side = Side::agent();
    side.line(r#"{"id":1,"method":"initialize"}"#);
    assert_eq!(side.connection.counters().refused, 1);
}

#[test]
fn the_lax_reading_takes_digits_integral_floats_and_dates() {
    let lax = || Side::new(Options { lax: true, ..Options::new(Role::Agent) });
    for version in ["\"1\"", "\"0\"", "1.0", "1e0", "\"2024-11-05\""] {
        let mut side = lax();
        let params =
            seen(&mut side, &format!(r#"{{"protocolVersion":{version},"clientInfo":{{}}}}"#));
        assert_eq!(params.unwrap(), r#"{"protocolVersion":1,"clientInfo":{}}"#, "{version}");
        assert_eq!(side.connection.counters().lax_versions, 1);
    }
    let params =
        seen(&mut lax(), r#"{"protocolVersion":"2","info":{"name":"ed","version":"3"}}"#).unwrap();
    assert!(params.contains(r#""clientInfo":{"name":"ed""#), "{params}");
    for version in [
        "\"\"",
        "\"x\"",
        "\"-1\"",
        "1.5",
        "-1.0",
        "true",
        "null",
        "\"65536\"",
        "70000.0",
        "\"2024-11-5x\"",
        "\"1 \"",
    ] {
        let mut side = lax();
        assert_eq!(
            seen(&mut side, &format!(r#"{{"protocolVersion":{version}}}"#)),
            None,
            "{version}"
        );
        assert!(side.sent().contains("-32602"));
    }
    let mut side = lax();
    seen(&mut side, r#"{"protocolVersion":1}"#).unwrap();
    assert_eq!(side.connection.counters().lax_versions, 0);
}

/// C-153
#[test]
fn params_of_a_later_version_are_put_in_the_form_of_version_1() {
    let params = concat!(
        r#"{"protocolVersion":2,"info":{"version":"3","name":"ed","title":"Ed","_meta":{"a":1},"more":1},"#,
        r#""capabilities":{"auth":{"terminal":{},"_meta":{"b":2}},"elicitation":{"form":{"_meta":{}},"url":{},"x":1},"#,
        r#""fs":{"readTextFile":true},"terminal":true,"session":{"commands":{}},"_meta":{"c":3}},"#,
        r#""clientCapabilities":{"fs":{"readTextFile":true},"terminal":true},"clientInfo":{"name":"x","version":"y"},"_meta":{"d":4}}"#
    );
    assert_eq!(
        seen(&mut Side::agent(), params).unwrap(),
        concat!(
            r#"{"protocolVersion":1,"clientCapabilities":{"session":{"configOptions":{"boolean":{}}},"#,
            r#""auth":{"terminal":true,"_meta":{"b":2}},"elicitation":{"form":{"_meta":{}},"url":{}},"_meta":{"c":3}},"#,
            r#""clientInfo":{"name":"ed","title":"Ed","version":"3","_meta":{"a":1}},"_meta":{"d":4}}"#
        )
    );
}

/// C-153
#[test]
fn a_lax_endpoint_reads_a_later_version_in_the_shape_of_version_1() {
    let mut side = Side::new(Options { lax: true, ..Options::new(Role::Agent) });
    let params = r#"{"protocolVersion":9,"clientCapabilities":{"fs":{"readTextFile":true}}}"#;
    let normal = r#"{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true}}}"#;
    assert_eq!(seen(&mut side, params).unwrap(), normal);
    let mut strict = Side::agent();
    assert!(!seen(&mut strict, params).unwrap().contains("readTextFile"));
}

/// C-153
#[test]
fn parts_of_a_later_version_that_do_not_fit_are_left_out() {
    let bare = r#""clientCapabilities":{"session":{"configOptions":{"boolean":{}}}"#;
    for (rest, normal) in [
        ("", format!("{bare}}}")),
        (r#","info":{"name":"x"},"capabilities":7,"_meta":[]"#, format!("{bare}}}")),
        (
            r#","info":"x","capabilities":{"auth":1,"elicitation":null,"_meta":2}"#,
            format!("{bare}}}"),
        ),
        (
            r#","info":{"name":"x","version":"y","title":5,"_meta":null}"#,
            format!(r#"{bare}}},"clientInfo":{{"name":"x","version":"y"}}"#),
        ),
        (
            r#","capabilities":{"auth":{"terminal":true},"elicitation":{"form":1}}"#,
            format!(r#"{bare},"auth":{{"terminal":false}},"elicitation":{{}}}}"#),
        ),
    ] {
        let params = seen(&mut Side::agent(), &format!(r#"{{"protocolVersion":3{rest}}}"#));
        assert_eq!(params.unwrap(), format!(r#"{{"protocolVersion":1,{normal}}}"#), "{rest}");
    }
}

/// C-154, C-173
#[test]
fn where_initialization_is_required_other_requests_before_it_are_refused() {
    let mut side = required();
    assert_eq!(side.line(r#"{"id":"q","method":"session/new","params":{}}"#), [""; 0]);
    assert_eq!(side.sent(), too_early("\"q\"", "session/new") + "\n");
    assert_eq!(side.line(r#"{"method":"n"}"#), ["notification n"]);
    side.line(initialize(r#"{"protocolVersion":1}"#));
    side.answer(0, "{}");
    side.sent();
    assert_eq!(side.line(r#"{"id":2,"method":"session/new"}"#), ["request id=2 session/new"]);
    assert!(side.connection.admit(side.tokens[1]));
    assert!(side.is_alive());
}

/// C-154
#[test]
fn where_initialization_is_not_required_everything_is_served() {
    let mut side = Side::agent();
    assert_eq!(side.line(r#"{"id":2,"method":"session/new"}"#), ["request id=2 session/new"]);
    assert!(side.connection.admit(side.tokens[0]));
    assert!(!side.connection.initialized());
}

/// C-154: a request that came while `initialize` was unanswered is judged when it is about to be served.
#[test]
fn a_request_behind_initialize_is_served_only_when_that_succeeds() {
    let chunk = format!(
        "{}\n{{\"id\":2,\"method\":\"session/new\"}}\n",
        initialize(r#"{"protocolVersion":1}"#)
    );
    for succeeds in [true, false] {
        let mut side = required();
        assert_eq!(side.feed(&chunk).len(), 2);
        if succeeds {
            side.answer(0, "{}")
        } else {
            side.fail(0, -32603)
        };
        side.sent();
        assert_eq!(side.connection.admit(side.tokens[1]), succeeds);
        let sent = if succeeds { String::new() } else { too_early("2", "session/new") + "\n" };
        assert_eq!(side.sent(), sent);
        assert_eq!(side.connection.initialized(), succeeds);
        assert_eq!(side.answer(1, "{}"), succeeds);
    }
}

/// C-051, C-052
#[test]
fn initialize_may_come_in_an_array() {
    let mut side = required();
    let (first, second) =
        (initialize(r#"{"protocolVersion":1}"#), r#"{"id":2,"method":"session/new"}"#);
    assert_eq!(side.line(format!("[{first},{second}]")).len(), 2);
    side.answer(0, "{}");
    assert!(side.connection.admit(side.tokens[1]));
    side.answer(1, "{}");
    let replies = [result("1", r#"{"protocolVersion":1}"#), result("2", "{}")];
    assert_eq!(side.sent(), format!("[{}]\n", replies.join(",")));
    let mut side = required();
    assert_eq!(side.line(format!("[{second},{first}]")).len(), 1);
    side.answer(0, "{}");
    let replies = [too_early("2", "session/new"), result("1", r#"{"protocolVersion":1}"#)];
    assert_eq!(side.sent(), format!("[{}]\n", replies.join(",")));
}

/// C-155
#[test]
fn version_1_may_initialize_again_at_any_time() {
    let mut side = required();
    for round in 0..3 {
        assert!(seen(&mut side, r#"{"protocolVersion":1}"#).is_some());
        if round == 1 {
            side.fail(round, -32603);
        } else {
            side.answer(round, "{}");
        }
        assert!(side.connection.initialized(), "a failed repetition takes nothing back");
    }
}

/// C-156
#[test]
fn without_the_guard_initialize_is_a_method_like_any_other() {
    let mut side =
        Side::new(Options { guard: false, require_initialize: true, ..Options::new(Role::Agent) });
    assert_eq!(
        seen(&mut side, r#"{"protocolVersion":"x"}"#).unwrap(),
        r#"{"protocolVersion":"x"}"#
    );
    side.answer(0, r#"{"protocolVersion":7}"#);
    assert_eq!(side.sent(), result("1", r#"{"protocolVersion":7}"#) + "\n");
    assert!(side.is_alive());
}

#[test]
fn a_result_of_initialize_that_is_no_object_becomes_an_error() {
    let mut side = required();
    side.line(initialize(r#"{"protocolVersion":1}"#));
    assert!(side.answer(0, "null"));
    assert!(side.sent().contains("-32603"));
    assert!(!side.connection.initialized());
    assert_eq!(side.connection.in_flight(), 0);
}

#[test]
fn a_client_is_initialized_by_the_success_of_its_own_request() {
    let mut side = Side::client();
    for (answer, initialized) in [
        (r#""error":{"code":1,"message":"m"}"#, false),
        (r#""result":{},"error":1"#, false),
        (r#""result":{"protocolVersion":1}"#, true),
    ] {
        let id = side.ask("initialize");
        side.line(format!(r#"{{"id":{id},{answer}}}"#));
        assert_eq!(side.connection.initialized(), initialized, "{answer}");
    }
    let mut side = Side::client();
    assert_eq!(side.line(initialize("7")), ["rejected envelope silent"]);
    assert_eq!(seen(&mut side, "{}").unwrap(), "{}", "a client has no rules for it");
    assert_ne!(side.sent(), invalid("null"));
}

#[test]
fn initialize_of_the_successor_is_not_ours() {
    let mut side = Side::new(Options { unwrap_successor: true, ..Options::new(Role::Agent) });
    let line = r#"{"id":1,"method":"_proxy/successor","params":{"method":"initialize","params":{"protocolVersion":9}}}"#;
    assert_eq!(side.line(line), ["request id=1 initialize {\"protocolVersion\":9} from successor"]);
    side.answer(0, r#"{"protocolVersion":9}"#);
    assert_eq!(side.sent(), result("1", r#"{"protocolVersion":9}"#) + "\n");
}
