//! The connection machine.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write;

use acp_core::connection::{Answered, Connection};
use acp_core::event::{Event, Outcome};
use acp_core::id::{Id, Token};
use acp_core::json::{Cursor, Kind, Scanner, Str};
use acp_core::options::{BatchPolicy, Options, Role};

use crate::{parts, timed};

/// Requests that are sent before the input, so that it can answer them; all of them where the rules allow that.
const ASKED: [&str; 4] = ["initialize", "a", "b", "c"];

/// Params of an `initialize` that are allowed on version 2, and a result that is.
const PARAMS: &str = r#"{"protocolVersion":2,"info":{"name":"c","version":"1"}}"#;
const ANSWER: &str = r#"{"protocolVersion":2,"info":{"name":"a","version":"1"}}"#;

/// When requests are answered.
#[derive(Clone, Copy, PartialEq)]
enum When {
    AtOnce,
    AtTheEnd,
}

/// What came out of one run.
#[derive(Debug, Default, PartialEq)]
struct Log {
    events: String,
    output: Vec<u8>,
}

/// Everything that an event says, on one line. The derived form would spend most of a search on escapes.
fn describe(event: &Event<'_>, out: &mut String) {
    let lane_of = |lane: &Option<Str<'_>>| lane.map_or("-", |lane| lane.raw).to_owned();
    let written = match event {
        Event::Request { token, id, method, params, lane, peer, size } => {
            let (params, lane) = (params.unwrap_or("-"), lane_of(lane));
            writeln!(out, "{} {id:?} {} {params} {lane} {peer:?} {size}", token.get(), method.raw)
        }
        Event::Notification { token, method, params, lane, peer, size } => {
            let (params, lane) = (params.unwrap_or("-"), lane_of(lane));
            writeln!(out, "{token:?} {} {params} {lane} {peer:?} {size}", method.raw)
        }
        Event::Response { id, method, outcome, lane, size } => {
            let text = match outcome {
                Outcome::Result(text)
                | Outcome::Error { raw: text, .. }
                | Outcome::Mismatch { text, .. } => text,
                Outcome::Malformed { .. } => "-",
            };
            let kind = core::mem::discriminant(outcome);
            writeln!(out, "{id} {method} {kind:?} {text} {} {size}", lane_of(lane))
        }
        Event::Rejected { reason, answered, code, raw, size } => {
            writeln!(out, "{reason:?} {answered} {code:?} {} {size}", raw.len())
        }
        Event::Cancelled { .. } => writeln!(out, "{event:?}"),
    };
    assert!(written.is_ok());
}

/// What one run has to answer for.
#[derive(Default)]
struct Account {
    asked: Vec<Id>,
    responses: Vec<i64>,
    answered_rejections: usize,
    requests: Vec<Token>,
    notifications: Vec<Token>,
}

impl Account {
    fn note(&mut self, event: &Event<'_>) {
        match event {
            Event::Request { token, id, .. } => {
                self.asked.push((*id).clone());
                self.requests.push(*token);
            }
            Event::Notification { token: Some(token), .. } => self.notifications.push(*token),
            Event::Response { id, .. } => self.responses.push(*id),
            Event::Rejected { answered: true, .. } => self.answered_rejections += 1,
            _ => {}
        }
    }

    /// Answers what is open; returns how many were refused instead.
    fn answer(&mut self, connection: &mut Connection) -> usize {
        let mut refused = 0;
        for token in self.notifications.drain(..) {
            connection.handled(token);
        }
        for (at, token) in self.requests.drain(..).enumerate() {
            if !connection.admit(token) {
                refused += 1;
            } else if at % 3 == 0 {
                assert!(connection.respond_error(token, -32603, "Internal error", Some("{\n}")));
            } else {
                let result = if at % 3 == 1 { ANSWER } else { "{\n\"protocolVersion\":2}" };
                assert!(respond(connection, token, result) != Answered::Before);
            }
            assert!(!connection.respond_error(token, 0, "twice", None));
        }
        refused
    }
}

fn respond(connection: &mut Connection, token: Token, result: &str) -> Answered {
    let Ok(answered) = connection.respond(token, |out| {
        out.extend_from_slice(result.as_bytes());
        Ok::<_, Infallible>(())
    });
    answered
}

fn ask(connection: &mut Connection, method: &str) -> Option<i64> {
    let params = |out: &mut Vec<u8>| {
        out.extend_from_slice(PARAMS.as_bytes());
        Ok::<_, Infallible>(true)
    };
    connection.request(method, params).ok()
}

/// Initializes, as far as limits allow; nothing of it is left to be seen but its frame in the counters.
fn initialize(connection: &mut Connection) {
    let mut tokens = Vec::new();
    let line = match connection.options().role {
        Role::Agent => format!(r#"{{"id":1,"method":"initialize","params":{PARAMS}}}"#),
        Role::Client => {
            let id = ask(connection, "initialize").unwrap_or_default();
            format!(r#"{{"id":{id},"result":{ANSWER}}}"#)
        }
    };
    connection.receive_frame(line.as_bytes(), &mut |event| {
        if let Event::Request { token, .. } = event {
            tokens.push(token);
        }
    });
    for token in tokens {
        assert!(respond(connection, token, ANSWER) == Answered::Sent);
    }
}

fn run<'a>(
    options: &Options,
    ready: bool,
    chunks: impl Iterator<Item = &'a [u8]>,
    when: When,
    frames: bool,
) -> Log {
    let mut connection = Connection::new(options.clone());
    if ready {
        initialize(&mut connection);
    }
    let asked: Vec<i64> = ASKED.iter().filter_map(|method| ask(&mut connection, method)).collect();
    if let Some(id) = asked.get(1) {
        assert!(connection.forget(*id));
    }
    let waiting = connection.pending().count();
    connection.clear_output();
    let mut log = Log::default();
    let mut account = Account::default();
    let mut late_refusals = 0;
    for chunk in chunks {
        let mut sink = |event: Event<'_>| {
            account.note(&event);
            describe(&event, &mut log.events);
        };
        if frames {
            connection.receive_frame(chunk, &mut sink);
        } else {
            connection.receive(chunk, &mut sink);
        }
        if when == When::AtOnce {
            late_refusals += account.answer(&mut connection);
        }
    }
    connection.end_of_input(&mut |event| {
        account.note(&event);
        describe(&event, &mut log.events);
    });
    late_refusals += account.answer(&mut connection);
    log.output = connection.take_output();
    assert_eq!(connection.in_flight(), 0);
    assert_eq!(connection.open_batches(), 0);
    assert_eq!(connection.input_len(), 0);
    let early_refusals =
        usize::try_from(connection.counters().refused).unwrap_or(0) - late_refusals;
    assert_eq!(connection.pending().count() + account.responses.len(), waiting);
    check_replies(&log.output, &account, early_refusals);
    log
}

/// What an endpoint spends on the input: reading it, and answering each request as it comes.
fn serve(options: &Options, stream: &[u8]) {
    let mut connection = Connection::new(options.clone());
    let mut account = Account::default();
    for chunk in stream.chunks(1 << 16) {
        connection.receive(chunk, &mut |event| account.note(&event));
        account.answer(&mut connection);
        connection.clear_output();
    }
    connection.end_of_input(&mut |event| account.note(&event));
    account.answer(&mut connection);
}

fn check_replies(output: &[u8], account: &Account, early_refusals: usize) {
    let mut replies: BTreeMap<Id, usize> = BTreeMap::new();
    let text = core::str::from_utf8(output).unwrap_or("no text");
    for line in text.lines() {
        assert!(Scanner::check(line).is_ok(), "what leaves is JSON");
        let mut cursor = Cursor::new(line);
        if cursor.kind() == Kind::List {
            assert!(cursor.enter(), "an empty array leaves");
            loop {
                *replies.entry(reply_id(cursor.skip())).or_default() += 1;
                if !cursor.more() {
                    break;
                }
            }
        } else {
            *replies.entry(reply_id(line)).or_default() += 1;
        }
    }
    let expected = account.asked.len() + account.answered_rejections + early_refusals;
    assert_eq!(replies.values().sum::<usize>(), expected, "replies and requests");
    for id in &account.asked {
        let left = replies.get_mut(id).filter(|left| **left > 0);
        assert!(left.is_some(), "a request has no reply");
        if let Some(left) = left {
            *left -= 1;
        }
    }
}

/// The id of a reply, which has a result or an error.
fn reply_id(reply: &str) -> Id {
    let mut cursor = Cursor::new(reply);
    assert!(cursor.kind() == Kind::Object && cursor.enter(), "a reply is an object");
    let (mut id, mut outcomes) = (None, 0);
    loop {
        let name = cursor.key();
        let value = cursor.skip();
        if name.is("id") {
            id = Id::read(value);
        }
        outcomes += usize::from(name.is("result") || name.is("error"));
        if !cursor.more() {
            break;
        }
    }
    assert_eq!(outcomes, 1);
    let id = id.filter(|_| outcomes == 1);
    assert!(id.is_some(), "a reply has an id");
    id.unwrap_or(Id::Null)
}

/// There are as many replies as requests, under their ids, however and whenever the input comes; and cutting the input
/// otherwise changes neither events nor replies.
///
/// # Panics
/// When that does not hold.
pub fn connection(data: &[u8]) {
    let ([flags, limit, chunk, more], stream) = parts(data);
    let has = |bit: u8| flags & (1 << bit) != 0;
    let ready = more & 1 != 0;
    let role = if has(0) { Role::Client } else { Role::Agent };
    let options = Options {
        version: if has(1) { 2 } else { 1 },
        batches: if has(2) { BatchPolicy::Reject } else { BatchPolicy::Accept },
        require_initialize: has(3),
        allow_reinitialize: more & 2 == 0,
        lax: has(4),
        unwrap_successor: has(5),
        guard: !has(6),
        max_message_bytes: if limit == 0 { 64 << 20 } else { usize::from(limit) * 4 },
        max_depth: if has(7) { 4 } else { 1024 },
        max_batch_entries: if has(7) { 3 } else { 1024 },
        kept_bytes: usize::from(chunk),
        ..Options::new(role)
    };
    let chunk = usize::from(chunk) + 2;
    timed(|| serve(&options, stream));
    let whole = run(&options, ready, std::iter::once(stream), When::AtTheEnd, false);
    assert_eq!(
        run(&options, ready, stream.chunks(1), When::AtTheEnd, false),
        whole,
        "byte by byte"
    );
    assert_eq!(
        run(&options, ready, stream.chunks(chunk), When::AtTheEnd, false),
        whole,
        "in chunks"
    );
    run(&options, ready, stream.chunks(chunk), When::AtOnce, false);
    run(&options, ready, stream.split(|byte| *byte == b'\n'), When::AtOnce, true);
}
