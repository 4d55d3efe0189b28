//! What passes through: text that nobody read leaves as it came.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "an event that nothing should cause is the failure itself"
)]

mod support;

use std::convert::Infallible;

use acp_core::connection::Connection;
use acp_core::event::{Event, Outcome};
use acp_core::frame::{Frame, Splitter};
use acp_core::id::Token;
use acp_core::options::{Options, Role};
use support::{Side, result};

/// Two connections: one to the client, one to the agent.
struct Relay {
    client: Connection,
    agent: Connection,
    /// Our request to the agent, and the client's that it stands for.
    asked: Vec<(i64, Token)>,
}

impl Relay {
    fn new() -> Self {
        Self {
            client: Connection::new(Options::new(Role::Agent)),
            agent: Connection::new(Options::new(Role::Client)),
            asked: Vec::new(),
        }
    }

    /// Takes what the client sent; returns what the agent gets.
    fn forth(&mut self, bytes: &str) -> String {
        let Self { client, agent, asked } = self;
        client.receive(bytes.as_bytes(), &mut |event| match event {
            Event::Request { token, method, params, .. } => {
                let id = agent.request(method.raw, copy(params)).unwrap();
                asked.push((id, token));
            }
            Event::Notification { method, params, .. } => {
                agent.notify(method.raw, copy(params)).unwrap();
            }
            other => panic!("not expected: {other:?}"),
        });
        String::from_utf8(self.agent.take_output()).unwrap_or_default()
    }

    /// Takes what the agent answered; returns what the client gets.
    fn back(&mut self, bytes: &str) -> String {
        let Self { client, agent, asked } = self;
        agent.receive(bytes.as_bytes(), &mut |event| {
            let Event::Response { id, outcome, .. } = event else { return };
            let Some((_, token)) = asked.iter().find(|(asked, _)| *asked == id) else { return };
            match outcome {
                Outcome::Result(text) | Outcome::Mismatch { text, .. } => {
                    let Ok(_) = client.respond(*token, |out| {
                        out.extend_from_slice(text.as_bytes());
                        Ok::<_, Infallible>(())
                    });
                }
                Outcome::Error { code, message, data, .. } => {
                    client.respond_error(*token, code, message.raw, data);
                }
                Outcome::Malformed { .. } => {
                    client.respond_error(*token, -32603, "Internal error", None);
                }
            }
        });
        String::from_utf8(self.client.take_output()).unwrap_or_default()
    }
}

fn copy(params: Option<&str>) -> impl FnOnce(&mut Vec<u8>) -> Result<bool, Infallible> {
    move |out| {
        out.extend_from_slice(params.unwrap_or_default().as_bytes());
        Ok(params.is_some())
    }
}

/// C-009
#[test]
fn params_and_results_pass_byte_for_byte() {
    let params =
        r#"{"z":1.50,"a":[1e2,12345678901234567890123,-0],"z":"\u00e9\/\ud800","n":null,"":{ }}"#;
    let mut relay = Relay::new();
    let sent =
        relay.forth(&format!(r#"{{"jsonrpc":"2.0","id":"q","method":"_x/y","params":{params}}}"#));
    assert_eq!(sent, "");
    let sent = relay.forth("\n");
    assert_eq!(
        sent,
        format!("{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"_x/y\",\"params\":{params}}}\n")
    );
    assert_eq!(relay.back(&(result("0", params) + "\n")), result("\"q\"", params) + "\n");
}

/// C-016
#[test]
fn errors_pass_with_their_data_or_without() {
    for data in ["", r#","data":null"#, r#","data":{"z":1,"a":[1.0]}"#] {
        let mut relay = Relay::new();
        relay.forth("{\"id\":5,\"method\":\"m\"}\n");
        let error = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":7,"message":"m"{data}}}}}"#)
                + "\n"
        };
        assert_eq!(relay.back(&error("0")), error("5"));
    }
}

#[test]
fn a_malformed_answer_reaches_the_one_who_asked_as_an_error() {
    let mut relay = Relay::new();
    relay.forth("{\"id\":5,\"method\":\"m\"}\n{\"id\":6,\"method\":\"m\"}\n");
    let back = relay.back("{\"id\":0,\"error\":\"boom\"}\n{\"id\":1,\"result\":[NaN]}\n");
    assert_eq!(back.matches("-32603").count(), 2);
    assert!(back.contains("\"id\":5") && back.contains("\"id\":6"));
}

/// C-067: a relay of frames, which reads none of them, passes an array on whole.
#[test]
fn frames_pass_whole_through_a_splitter() {
    let frames = ["[{\"id\":1,\"method\":\"m\"},7,{]", "{oops", "{\"b\":1,\"a\":2}"];
    let mut splitter = Splitter::new(1000);
    let mut seen = Vec::new();
    splitter.push((frames.join("\r\n") + "\n").as_bytes(), &mut |frame| {
        if let Frame::Whole(frame) = frame {
            seen.push(frame.to_vec());
        }
    });
    assert_eq!(seen, frames.map(|frame| frame.as_bytes().to_vec()));
}

#[test]
fn text_of_several_lines_passes_on_one() {
    let mut side = Side::client();
    side.ask_with("m", "{\n  \"a\": \"x\\ny\",\r\n  \"b\": [\n]\n}");
    let sent = side.sent();
    assert_eq!(sent.matches('\n').count(), 1);
    let mut agent = Side::agent();
    assert_eq!(agent.feed(&sent), ["request id=0 m {   \"a\": \"x\\ny\",\r   \"b\": [ ] }"]);
}
