//! A connection under test: text in, events and lines out, in forms that read well in an assertion.
#![allow(dead_code, reason = "every test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "what cannot be sent is the failure itself")]

use std::convert::Infallible;

use acp_core::connection::{Answered, Connection, SendError};
use acp_core::event::{Event, Outcome, Peer};
use acp_core::id::{Id, Token};
use acp_core::json::Str;
use acp_core::options::{Options, Role};
use acp_core::version::Refusal;

/// One side of a connection.
pub struct Side {
    pub connection: Connection,
    /// Tokens of the requests and batched notifications seen, oldest first.
    pub tokens: Vec<Token>,
}

impl Side {
    pub fn new(options: Options) -> Self {
        Self { connection: Connection::new(options), tokens: Vec::new() }
    }

    pub fn agent() -> Self {
        Self::new(Options::new(Role::Agent))
    }

    pub fn client() -> Self {
        Self::new(Options::new(Role::Client))
    }

    /// A side of version 2 that has been initialized; nothing of that is left to be seen.
    pub fn ready(role: Role) -> Self {
        let mut side = Self::new(Options { version: 2, ..Options::new(role) });
        if role == Role::Agent {
            side.line(initialize_v2(2, r#","info":{"name":"c","version":"1"}"#));
            side.answer(0, ANSWER_V2);
        } else {
            let id = side.ask_with("initialize", r#"{"info":{"name":"c","version":"1"}}"#);
            side.line(result(&id.to_string(), ANSWER_V2));
        }
        assert!(side.connection.initialized());
        side.sent();
        side.tokens.clear();
        side
    }

    /// Feeds bytes of the stream and describes the events.
    pub fn feed(&mut self, bytes: impl AsRef<[u8]>) -> Vec<String> {
        let mut seen = Vec::new();
        let Self { connection, tokens } = self;
        connection.receive(bytes.as_ref(), &mut |event| note(&event, &mut seen, tokens));
        seen
    }

    /// Feeds one line; the newline is added.
    pub fn line(&mut self, line: impl AsRef<[u8]>) -> Vec<String> {
        self.feed([line.as_ref(), b"\n"].concat())
    }

    /// Feeds a frame of a transport that keeps frames apart.
    pub fn frame(&mut self, frame: impl AsRef<[u8]>) -> Vec<String> {
        let mut seen = Vec::new();
        let Self { connection, tokens } = self;
        connection.receive_frame(frame.as_ref(), &mut |event| note(&event, &mut seen, tokens));
        seen
    }

    pub fn end(&mut self) -> Vec<String> {
        let mut seen = Vec::new();
        let Self { connection, tokens } = self;
        connection.end_of_input(&mut |event| note(&event, &mut seen, tokens));
        seen
    }

    /// What was queued, taken.
    pub fn sent(&mut self) -> String {
        let bytes = self.connection.take_output();
        String::from_utf8(bytes).unwrap_or_else(|error| format!("no UTF-8: {error}"))
    }

    pub fn ask(&mut self, method: &str) -> i64 {
        self.connection.request(method, |_| Ok::<_, Infallible>(false)).unwrap()
    }

    pub fn ask_with(&mut self, method: &str, params: &str) -> i64 {
        self.try_to_ask(method, params).unwrap()
    }

    /// The id of a request, or what is said against it.
    pub fn try_to_ask(&mut self, method: &str, params: &str) -> Result<i64, Refusal> {
        let asked = self.connection.request(method, |out| {
            out.extend_from_slice(params.as_bytes());
            Ok::<_, Infallible>(true)
        });
        asked.map_err(refusal)
    }

    pub fn tell(&mut self, method: &str, params: &str) {
        self.try_to_tell(method, params).unwrap();
    }

    /// What is said against a notification.
    pub fn try_to_tell(&mut self, method: &str, params: &str) -> Result<(), Refusal> {
        let told = self.connection.notify(method, |out| {
            out.extend_from_slice(params.as_bytes());
            Ok::<_, Infallible>(true)
        });
        told.map_err(refusal)
    }

    /// Answers the request seen as the `at`-th; false when it was answered before.
    pub fn answer(&mut self, at: usize, result: &str) -> bool {
        self.try_to_answer(at, result) != Answered::Before
    }

    /// Answers the request seen as the `at`-th.
    pub fn try_to_answer(&mut self, at: usize, result: &str) -> Answered {
        let Ok(answered) = self.connection.respond(self.tokens[at], |out| {
            out.extend_from_slice(result.as_bytes());
            Ok::<_, Infallible>(())
        });
        answered
    }

    pub fn fail(&mut self, at: usize, code: i32) -> bool {
        self.connection.respond_error(self.tokens[at], code, "no", None)
    }

    /// A request that is asked last in many tests: whatever came before, it has to be served.
    pub fn is_alive(&mut self) -> bool {
        self.sent();
        let seen = self.line(r#"{"jsonrpc":"2.0","id":"alive","method":"_ping"}"#);
        seen == ["request id=\"alive\" _ping"]
            && self.answer(self.tokens.len() - 1, "{}")
            && self.sent() == "{\"jsonrpc\":\"2.0\",\"id\":\"alive\",\"result\":{}}\n"
    }
}

/// A result of `initialize` that fits version 2.
pub const ANSWER_V2: &str = r#"{"protocolVersion":2,"info":{"name":"a","version":"1"}}"#;

/// An `initialize` with the id 1 that asks for a version; `rest` holds further members of its params.
pub fn initialize_v2(version: u16, rest: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":{version}{rest}}}}}"#
    )
}

fn refusal(error: SendError<Infallible>) -> Refusal {
    match error {
        SendError::Refused(refusal) => refusal,
        SendError::Params(never) => match never {},
    }
}

pub fn error(id: &str, code: i32, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

pub fn invalid(id: &str) -> String {
    error(id, -32600, "Invalid request")
}

pub fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn note(event: &Event<'_>, seen: &mut Vec<String>, tokens: &mut Vec<Token>) {
    if let Event::Request { token, .. } | Event::Notification { token: Some(token), .. } = event {
        tokens.push(*token);
    }
    seen.push(describe(event));
}

pub fn describe(event: &Event<'_>) -> String {
    match event {
        Event::Request { id, method, params, lane, peer, .. } => {
            format!("request id={} {}", id_text(id), call(*method, *params, *lane, *peer))
        }
        Event::Notification { token, method, params, lane, peer, .. } => {
            let batched = if token.is_some() { "batched " } else { "" };
            format!("{batched}notification {}", call(*method, *params, *lane, *peer))
        }
        Event::Response { id, method, outcome, lane, .. } => {
            let outcome = match outcome {
                Outcome::Result(text) => format!("result {text}"),
                Outcome::Error { code, message, data, .. } => {
                    let data = data.map(|data| format!(" data={data}")).unwrap_or_default();
                    format!("error {code} {}{data}", text(*message))
                }
                Outcome::Mismatch { selected, text } => format!("mismatch {selected} {text}"),
                Outcome::Malformed { .. } => "malformed".to_owned(),
            };
            format!("response {id} {method} {outcome}{}", lane_text(*lane))
        }
        Event::Cancelled { id, .. } => format!("cancelled id={}", id_text(id)),
        Event::Rejected { reason, answered, .. } => {
            format!(
                "rejected {} {}",
                reason.as_str(),
                if *answered { "answered" } else { "silent" }
            )
        }
    }
}

fn call(method: Str<'_>, params: Option<&str>, lane: Option<Str<'_>>, peer: Peer) -> String {
    let params = params.map(|params| format!(" {params}")).unwrap_or_default();
    let peer = if peer == Peer::Successor { " from successor" } else { "" };
    format!("{}{params}{}{peer}", text(method), lane_text(lane))
}

fn lane_text(lane: Option<Str<'_>>) -> String {
    lane.map(|lane| format!(" lane={}", text(lane))).unwrap_or_default()
}

fn text(text: Str<'_>) -> String {
    String::from_utf8_lossy(text.text().as_bytes()).into_owned()
}

fn id_text(id: &Id) -> String {
    let mut out = Vec::new();
    id.write(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}
