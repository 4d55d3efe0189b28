//! From bytes to frames: line endings, blank lines, the end of the stream, and frames over the limits.

mod support;

use acp_core::event::Reason;
use acp_core::options::{Options, Role};
use support::{Side, error, invalid, result};

const ECHO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"_x/echo"}"#;

fn limited(role: Role, bytes: usize) -> Side {
    Side::new(Options { max_message_bytes: bytes, ..Options::new(role) })
}

/// C-001
#[test]
fn a_carriage_return_before_the_newline_belongs_to_the_line_ending() {
    let mut plain = Side::agent();
    let mut windows = Side::agent();
    assert_eq!(plain.feed(format!("{ECHO}\n")), windows.feed(format!("{ECHO}\r\n")));
    assert_eq!(plain.connection.counters(), windows.connection.counters());
}

/// C-002
#[test]
fn a_last_line_without_a_newline_is_handled() {
    let mut side = Side::agent();
    assert_eq!(side.feed(ECHO), [""; 0]);
    assert_eq!(side.end(), ["request id=1 _x/echo"]);
    assert_eq!(side.end(), [""; 0]);
}

/// C-002
#[test]
fn a_cut_off_last_line_is_a_parse_error_and_the_end_is_clean() {
    let mut side = Side::agent();
    assert!(side.feed(r#"{"jsonrpc":"2.0","id":1,"meth"#).is_empty());
    assert_eq!(side.end(), ["rejected parse answered"]);
    assert_eq!(side.sent(), error("null", -32700, "Parse error") + "\n");
    assert_eq!(side.end(), [""; 0]);
}

/// C-003
#[test]
fn blank_lines_are_skipped_silently() {
    let mut side = Side::agent();
    assert!(side.feed("\n\r\n   \n\t \r\n").is_empty());
    assert!(side.frame("  ").is_empty());
    assert_eq!(side.sent(), "");
    assert_eq!(side.connection.counters().frames, 0);
    assert!(side.is_alive());
}

/// C-004
#[test]
fn a_byte_order_mark_is_a_parse_error() {
    let mut side = Side::agent();
    assert_eq!(side.line(format!("\u{feff}{ECHO}")), ["rejected parse answered"]);
    assert_eq!(side.sent(), error("null", -32700, "Parse error") + "\n");
    assert!(side.is_alive());
}

/// C-006
#[test]
fn bytes_that_are_no_utf8_cost_their_own_frame_only() {
    let mut side = Side::agent();
    let bad = [&br#"{"jsonrpc":"2.0","id":2,"method":"m","params":{"t":"\xff"#[..], b"\xff\"}}\n"]
        .concat();
    assert_eq!(side.feed(&bad), ["rejected utf8 answered"]);
    assert_eq!(side.sent(), error("null", -32700, "Parse error") + "\n");
    assert_eq!(side.line([0xFF, 0xFE, b'{', 0]), ["rejected utf8 answered"]);
    assert!(side.is_alive());
    assert_eq!(side.connection.counters().rejected(Reason::Utf8), 2);
}

/// C-006: a call whose answer holds bad bytes does not wait for ever.
#[test]
fn an_answer_that_is_no_utf8_fails_its_caller() {
    for role in [Role::Agent, Role::Client] {
        let mut side = Side::new(Options::new(role));
        side.ask("m");
        side.sent();
        let bad = [&br#"{"jsonrpc":"2.0","id":0,"result":{"t":""#[..], b"\xff\"}}"].concat();
        assert_eq!(side.line(bad), ["response 0 m malformed"]);
        assert_eq!(side.sent(), "");
    }
}

/// C-007
#[test]
fn each_message_leaves_as_one_line_of_compact_text() {
    let mut side = Side::agent();
    side.tell("a\nb", "{\"x\": [\n1,\r\n2]\n}");
    side.ask("m");
    assert_eq!(
        side.sent(),
        "{\"jsonrpc\":\"2.0\",\"method\":\"a\\nb\",\"params\":{\"x\": [ 1,\r 2] }}\n{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"m\"}\n"
    );
    assert_eq!(side.connection.output_len(), 0);
}

/// C-008
#[test]
fn answers_are_accepted_after_the_input_ended() {
    let mut side = Side::agent();
    side.line(ECHO);
    side.end();
    assert!(side.answer(0, "{}"));
    assert_eq!(side.sent(), result("1", "{}") + "\n");
}

#[test]
fn a_whole_frame_may_hold_newlines_as_white_space() {
    let mut side = Side::agent();
    let seen = side.frame("{\n\"jsonrpc\":\"2.0\",\n\"method\":\"m\",\"params\":{\n}}\r\n");
    assert_eq!(seen, ["notification m {\n}"]);
}

/// C-005
#[test]
fn a_frame_of_exactly_the_limit_is_read_with_either_line_ending() {
    for ending in ["\n", "\r\n"] {
        let mut side = limited(Role::Agent, ECHO.len());
        assert_eq!(side.feed(format!("{ECHO}{ending}")), ["request id=1 _x/echo"]);
        let mut side = limited(Role::Agent, ECHO.len() - 1);
        assert_eq!(side.feed(format!("{ECHO}{ending}")), ["rejected size answered"]);
    }
}

/// C-005
#[test]
fn a_request_over_the_limit_is_answered_with_its_id_wherever_that_stands() {
    let filler = "x".repeat(4000);
    let nested = format!(r#"{{"id":9,"method":"not me","t":"\"}}{filler}","l":[[{{"id":8}}]]}}"#);
    for (line, id) in [
        (format!(r#"{{"jsonrpc":"2.0","id":5,"method":"m","params":{nested}}}"#), "5"),
        (format!(r#"{{"params":{nested},"method":"m","id":"é\u0041\"\\"}}"#), r#""éA\"\\""#),
        (format!(r#" {{ "params" : {nested} , "\u0069d" : -7 , "m\u0065thod" : "m" }} "#), "-7"),
        (format!(r#"{{"method":"m","params":[{nested}],"id":null}}"#), "null"),
        (format!(r#"{{"id":{0},"method":"m","x":{1}}}"#, i64::MIN, nested), "-9223372036854775808"),
    ] {
        for role in [Role::Agent, Role::Client] {
            let mut side = limited(role, 1000);
            assert_eq!(side.line(&line), ["rejected size answered"], "{line}");
            assert_eq!(side.sent(), invalid(id) + "\n");
            assert!(side.is_alive());
        }
    }
}

/// C-005
#[test]
fn a_frame_over_the_limit_whose_id_cannot_be_read_is_answered_with_null() {
    let filler = "x".repeat(4000);
    for line in [
        filler.clone(),
        format!("[{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[\"{filler}\"]}}]"),
        format!(r#"{{"id":1.5,"method":"m","params":["{filler}"]}}"#),
        format!(r#"{{"id":{{}},"method":"m","params":["{filler}"]}}"#),
        format!(r#"{{"id":1,"id":2,"method":"m","params":["{filler}"]}}"#),
        format!(r#"{{"id":1,"method":"m","method":"n","params":["{filler}"]}}"#),
        format!(r#"{{"id":"{filler}","method":"m"}}"#),
        format!(r#"{{"id":1,"method":5,"params":["{filler}"]}}"#),
        format!(r#"{{"id":1,"method":"m","params":["{filler}"#),
        format!(r#"{{"id":1,"method":"m","params":["{filler}"]}} x"#),
        format!(r#"{{"id" 1,"method":"m","params":["{filler}"]}}"#),
        format!(r#"{{"id":1,"params":["{filler}"]}}"#),
        format!(r#""{filler}""#),
    ] {
        let mut side = limited(Role::Agent, 1000);
        assert_eq!(side.line(&line), ["rejected size answered"], "{line}");
        assert_eq!(side.sent(), invalid("null") + "\n");
        assert!(side.is_alive());
        let mut side = limited(Role::Client, 1000);
        assert_eq!(side.line(&line), ["rejected size silent"], "{line}");
        assert_eq!(side.sent(), "");
        assert!(side.is_alive());
    }
}

/// C-005
#[test]
fn a_notification_over_the_limit_is_counted_and_not_answered() {
    let mut side = limited(Role::Agent, 100);
    let seen = side.line(format!(r#"{{"method":"m","params":["{}"]}}"#, "x".repeat(200)));
    assert_eq!(seen, ["rejected size silent"]);
    assert_eq!(side.sent(), "");
    assert_eq!(side.connection.counters().lost_notifications, 1);
    assert!(side.is_alive());
}

/// C-005
#[test]
fn an_answer_over_the_limit_fails_its_caller_and_no_other() {
    let mut side = limited(Role::Client, 100);
    side.ask("a");
    side.ask("b");
    side.sent();
    let long = "x".repeat(200);
    assert_eq!(side.line(format!(r#"{{"id":1,"result":["{long}"]}}"#)), ["response 1 b malformed"]);
    let error = format!(r#"{{"id":7,"error":{{"code":1,"message":"{long}"}}}}"#);
    assert_eq!(side.line(error), ["rejected size silent"]);
    assert_eq!(side.line(r#"{"id":0,"result":1}"#), ["response 0 a result 1"]);
    assert_eq!(side.sent(), "");
}

/// C-005
#[test]
fn a_line_without_end_is_not_kept() {
    let limit = 10_000;
    let mut side = limited(Role::Agent, limit);
    side.feed(r#"{"id":3,"params":[""#);
    for _ in 0..2_000 {
        assert!(side.feed([b'x'; 1000]).is_empty());
        assert!(side.connection.input_len() <= limit + 1);
    }
    assert_eq!(side.feed("\"],\"method\":\"m\"}\n"), ["rejected size answered"]);
    assert_eq!(side.sent(), invalid("3") + "\n");
    assert!(side.is_alive());
}

#[test]
fn a_blank_line_over_the_limit_is_blank() {
    let mut side = limited(Role::Agent, 10);
    assert!(side.feed(" ".repeat(50)).is_empty());
    assert!(side.feed(" \r\n").is_empty());
    assert_eq!(side.sent(), "");
}

fn nested(open: &str, close: &str, levels: usize) -> String {
    open.repeat(levels) + "1" + &close.repeat(levels)
}

#[test]
fn nesting_is_read_to_the_limit_in_every_member() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"sessionId\":", "}]")] {
        let per_round = open.matches(['[', '{']).count();
        let deep = nested(open, close, 1024 / per_round);
        let over = format!("[{deep}]");
        let mut side = Side::agent();
        let request = |params: &str| format!(r#"{{"id":1,"method":"m","params":{params}}}"#);
        assert_eq!(side.line(request(&deep)), [format!("request id=1 m {deep}")]);
        assert_eq!(side.line(request(&over)), ["rejected depth answered"]);
        assert_eq!(side.sent(), invalid("1") + "\n");
        side.ask("a");
        side.ask("b");
        side.sent();
        let answer = |id: u8, result: &str| format!(r#"{{"id":{id},"result":{result}}}"#);
        assert_eq!(side.line(answer(0, &deep)), [format!("response 0 a result {deep}")]);
        assert_eq!(side.line(answer(1, &over)), ["response 1 b malformed"]);
        assert_eq!(side.sent(), "");
        assert!(side.is_alive());
    }
}

#[test]
fn a_limit_of_nesting_below_the_greatest_holds_for_the_members_of_params_too() {
    let mut side = Side::new(Options { max_depth: 3, ..Options::new(Role::Agent) });
    let line = |params: &str| format!(r#"{{"method":"m","params":{params},"extra":[[[]]]}}"#);
    assert_eq!(side.line(line(r#"{"a":[[]]}"#)), [r#"notification m {"a":[[]]}"#]);
    for over in [r#"{"a":[[[]]]}"#, "[[[[]]]]", r#"{"sessionId":[[{}]]}"#] {
        assert_eq!(side.line(line(over)), ["rejected depth silent"]);
    }
    assert_eq!(side.connection.counters().lost_notifications, 3);
}

#[test]
fn bottomless_nesting_is_refused_without_a_stack() {
    for open in ["[", "{\"a\":", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":["] {
        let mut side = Side::agent();
        side.line(open.repeat(100_000));
        assert_eq!(side.sent(), invalid("null") + "\n", "{open}");
        assert!(side.is_alive());
    }
}
