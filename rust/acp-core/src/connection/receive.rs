//! What becomes of a frame.
//!
//! Owns the order of decisions from a frame to events and replies. Each frame and each entry of a batch ends in exactly
//! one of them: an event, a reply, both, or silence that is counted.

use std::borrow::Cow;

use super::calls::Settled;
use super::output::write_error;
use super::requests::{Open, ReplyTo};
use super::{CANCEL, State};
use crate::batch::BatchKey;
use crate::event::{Event, Outcome, Peer, Reason};
use crate::frame::{Frame, Salvage, Salvaged, SalvagedId};
use crate::id::{Id, Token};
use crate::json::{Str, SyntaxKind};
use crate::message::{self, Answer, Array, Call, Content, Entry, Fault, Invalid, Message};
use crate::options::{BatchPolicy, Role};
use crate::version::{self, Refusal};

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// Data of the error for a batch where none is accepted, as JSON.
const NO_BATCHES: &str = "\"JSON-RPC batches are not supported; send each message individually\"";

/// Where a message stood.
#[derive(Clone, Copy)]
struct Place<'a> {
    batch: Option<BatchKey>,
    /// Its bytes; of a frame over the limit those that were kept.
    raw: &'a [u8],
    /// How many bytes it has.
    size: usize,
}

impl<'a> Place<'a> {
    fn new(batch: Option<BatchKey>, raw: &'a [u8]) -> Self {
        Self { batch, raw, size: raw.len() }
    }
}

impl State {
    pub(super) fn frame(&mut self, frame: Frame<'_>, sink: &mut impl FnMut(Event<'_>)) {
        self.counters.frames += 1;
        match frame {
            Frame::Whole(bytes) => match core::str::from_utf8(bytes) {
                Ok(text) => self.text(text, sink),
                Err(_) => self.broken(bytes, Reason::Utf8, sink),
            },
            Frame::Oversize(mut salvaged) => {
                let head = core::mem::take(&mut salvaged.head);
                let place = Place { batch: None, raw: &head, size: salvaged.size };
                self.over_limit(salvaged, Reason::Size, place, sink);
            }
        }
    }

    fn text(&mut self, text: &str, sink: &mut impl FnMut(Event<'_>)) {
        let limit = match self.options.batches {
            BatchPolicy::Accept => self.options.max_batch_entries,
            BatchPolicy::Reject => 0,
        };
        let place = Place::new(None, text.as_bytes());
        match message::read(text, self.options.max_depth, limit) {
            Ok(Content::Message(message)) => self.message(message, place, sink),
            Ok(Content::Array(array)) => self.array(array, place, sink),
            Err(error) if error.kind == SyntaxKind::Depth => {
                self.over_limit(Salvage::of(text.as_bytes()), Reason::Depth, place, sink);
            }
            Err(_) => self.broken(text.as_bytes(), Reason::Parse, sink),
        }
    }

    fn array(&mut self, array: Array<'_>, place: Place<'_>, sink: &mut impl FnMut(Event<'_>)) {
        if self.options.batches == BatchPolicy::Reject {
            return self.reject(Reason::Batch, Some(NO_BATCHES), place, sink);
        }
        if array.entries.is_empty() {
            return self.reject(Reason::Batch, None, place, sink);
        }
        let batch = self.batches.open();
        for entry in array.entries {
            match entry {
                Entry::Message { message, text } => {
                    self.message(message, Place::new(Some(batch), text.as_bytes()), sink);
                }
                Entry::Deep { salvaged, text } => {
                    let place = Place::new(Some(batch), text.as_bytes());
                    self.over_limit(salvaged, Reason::Depth, place, sink);
                }
            }
        }
        self.out.sure_frame(|out| self.batches.close(batch, out));
    }

    fn message(
        &mut self,
        message: Message<'_>,
        place: Place<'_>,
        sink: &mut impl FnMut(Event<'_>),
    ) {
        match message {
            Message::Notification(call) => self.notification(call, place, sink),
            Message::Request { id, call } => self.request(id, call, place, sink),
            Message::Response { id, answer } => self.response(&id, answer, place, sink),
            Message::Invalid(invalid) => self.invalid(invalid, place, sink),
        }
    }

    fn notification(&mut self, call: Call<'_>, place: Place<'_>, sink: &mut impl FnMut(Event<'_>)) {
        self.counters.notifications += 1;
        let (call, peer) = self.unwrap(call);
        if call.method.is(CANCEL) {
            return self.cancellation(call.params, place, sink);
        }
        if peer == Peer::Counterpart && self.ignores_notifications() {
            self.counters.early_notifications += 1;
            return;
        }
        let token = place.batch.map(|batch| {
            let token = self.new_token();
            self.batches.add_notification(batch, token);
            token
        });
        let Call { method, params, lane } = call;
        sink(Event::Notification { token, method, params, lane, peer, size: place.size });
    }

    fn cancellation(
        &mut self,
        params: Option<&str>,
        place: Place<'_>,
        sink: &mut impl FnMut(Event<'_>),
    ) {
        let Some(id) = params.and_then(message::cancelled_id) else {
            return self.ignore(Reason::Cancel, place, sink);
        };
        let hit = self.requests.cancel(id, |token, id| sink(Event::Cancelled { token, id }));
        self.counters.idle_cancellations += u64::from(!hit);
    }

    fn request(
        &mut self,
        id: Id,
        call: Call<'_>,
        place: Place<'_>,
        sink: &mut impl FnMut(Event<'_>),
    ) {
        self.counters.requests += 1;
        if id == Id::Null && !version::allows_null_id(&self.options) {
            return self.reject(Reason::Id, Refusal::NullId.data().as_deref(), place, sink);
        }
        let (Call { method, params, lane }, peer) = self.unwrap(call);
        let (mut opening, mut conditional) = (None, false);
        if peer == Peer::Counterpart {
            if self.options.guard && method.is(version::INITIALIZE) {
                match self.open(params) {
                    Ok(read) => opening = read,
                    Err(refusal) => return self.refuse(&id, &refusal, place),
                }
            } else if self.is_too_early() {
                if !self.may_be_ready_soon() {
                    let refusal = Refusal::TooEarly { method: name(method).into() };
                    return self.refuse(&id, &refusal, place);
                }
                conditional = true;
            } else if self.options.role == Role::Agent {
                self.handshake.move_on();
            }
        }
        let token = self.new_token();
        let reply = self.reply_to(place);
        let open = self.requests.insert(
            token,
            Open {
                id,
                method: name(method).into(),
                reply,
                opens: opening.is_some(),
                conditional,
                cancelled: false,
            },
        );
        let (id, params) = (&open.id, opening.as_deref().or(params));
        sink(Event::Request { token, id, method, params, lane, peer, size: place.size });
    }

    fn response(
        &mut self,
        id: &Id,
        answer: Answer<'_>,
        place: Place<'_>,
        sink: &mut impl FnMut(Event<'_>),
    ) {
        let (outcome, lane) = match answer {
            Answer::Result { text, lane } => (Outcome::Result(text), lane),
            Answer::Error { code, message, data, raw } => {
                (Outcome::Error { code, message, data, raw }, None)
            }
        };
        let settled =
            if let Id::Int(id) = id { self.settle(*id, outcome, lane, place, sink) } else { false };
        match outcome {
            _ if settled => {}
            Outcome::Error { code, .. } if *id == Id::Null => {
                self.counters.reject(Reason::Error);
                sink(rejected(Reason::Error, false, Some(code), place));
            }
            _ => self.ignore(Reason::Response, place, sink),
        }
    }

    fn invalid(&mut self, invalid: Invalid, place: Place<'_>, sink: &mut impl FnMut(Event<'_>)) {
        let reason = match invalid.fault {
            Fault::Envelope => Reason::Envelope,
            Fault::Duplicate => Reason::Duplicate,
            Fault::Id => Reason::Id,
        };
        match invalid.id {
            Some(id) if self.fail(id, reason, place, sink) => {}
            _ if invalid.response => self.ignore(Reason::Response, place, sink),
            _ if self.options.lax && invalid.asks_nothing => self.ignore(reason, place, sink),
            _ => self.reject(reason, None, place, sink),
        }
    }

    /// A frame that is no JSON. An answer that is broken only further in still frees its caller.
    fn broken(&mut self, frame: &[u8], reason: Reason, sink: &mut impl FnMut(Event<'_>)) {
        let place = Place::new(None, frame);
        if !self.calls.is_empty() {
            let salvaged = Salvage::of(frame);
            if salvaged.response
                && let SalvagedId::Read(Id::Int(id)) = salvaged.id
                && self.fail(id, reason, place, sink)
            {
                return;
            }
        }
        self.reject(reason, None, place, sink);
    }

    /// A message that is too long or too deep to be read.
    fn over_limit(
        &mut self,
        salvaged: Salvaged,
        reason: Reason,
        place: Place<'_>,
        sink: &mut impl FnMut(Event<'_>),
    ) {
        let Salvaged { id, call, response, .. } = salvaged;
        match id {
            // The one who asked waits for this, so that both roles tell it.
            SalvagedId::Read(id)
                if call && (id != Id::Null || version::allows_null_id(&self.options)) =>
            {
                self.write_error(&id, INVALID_REQUEST, None, place);
                self.counters.reject(reason);
                sink(rejected(reason, true, None, place));
            }
            SalvagedId::Absent if call => {
                self.counters.lost_notifications += 1;
                self.ignore(reason, place, sink);
            }
            SalvagedId::Read(Id::Int(id)) if !call && self.fail(id, reason, place, sink) => {}
            _ if response => self.ignore(reason, place, sink),
            _ => self.reject(reason, None, place, sink),
        }
    }

    /// Hands an answer to the request of ours that it is for; false when there is none.
    fn settle(
        &mut self,
        id: i64,
        outcome: Outcome<'_>,
        lane: Option<Str<'_>>,
        place: Place<'_>,
        sink: &mut impl FnMut(Event<'_>),
    ) -> bool {
        match self.calls.settle(id) {
            Settled::Pending(call) => {
                self.counters.responses += 1;
                let malformed = matches!(outcome, Outcome::Malformed { .. });
                self.counters.malformed_responses += u64::from(malformed);
                let method = &*call.method;
                let outcome = if call.opens { self.opened(outcome) } else { outcome };
                sink(Event::Response { id, method, outcome, lane, size: place.size });
                true
            }
            Settled::Forgotten => {
                self.counters.swallowed_responses += 1;
                if let Outcome::Malformed { reason, .. } = outcome {
                    self.ignore(reason, place, sink);
                }
                true
            }
            Settled::Unknown => false,
        }
    }

    /// The same with an answer that cannot be read.
    fn fail(
        &mut self,
        id: i64,
        reason: Reason,
        place: Place<'_>,
        sink: &mut impl FnMut(Event<'_>),
    ) -> bool {
        self.settle(id, Outcome::Malformed { reason, raw: place.raw }, None, place, sink)
    }

    fn ignore(&mut self, reason: Reason, place: Place<'_>, sink: &mut impl FnMut(Event<'_>)) {
        self.counters.reject(reason);
        sink(rejected(reason, false, None, place));
    }

    fn reject(
        &mut self,
        reason: Reason,
        data: Option<&str>,
        place: Place<'_>,
        sink: &mut impl FnMut(Event<'_>),
    ) {
        if self.options.role == Role::Client {
            return self.ignore(reason, place, sink);
        }
        if self.out.len() > self.options.max_unread_bytes {
            self.counters.unanswered += 1;
            return self.ignore(reason, place, sink);
        }
        let code = match reason {
            Reason::Parse | Reason::Utf8 => PARSE_ERROR,
            _ => INVALID_REQUEST,
        };
        self.write_error(&Id::Null, code, data, place);
        self.counters.reject(reason);
        sink(rejected(reason, true, None, place));
    }

    fn refuse(&mut self, id: &Id, refusal: &Refusal, place: Place<'_>) {
        self.counters.refused += 1;
        let reply = self.reply_to(place);
        let (code, message, data) = (refusal.code(), refusal.message(), refusal.data());
        self.reply(reply, |out| write_error(out, id, code, &message, data.as_deref()));
    }

    fn write_error(&mut self, id: &Id, code: i32, data: Option<&str>, place: Place<'_>) {
        let reply = self.reply_to(place);
        let message = if code == PARSE_ERROR { "Parse error" } else { "Invalid request" };
        self.reply(reply, |out| write_error(out, id, code, message, data));
    }

    fn reply_to(&mut self, place: Place<'_>) -> ReplyTo {
        place.batch.map_or(ReplyTo::Line, |batch| ReplyTo::Slot(self.batches.add_slot(batch)))
    }

    fn unwrap<'a>(&self, call: Call<'a>) -> (Call<'a>, Peer) {
        let wrapped = self.options.unwrap_successor
            && (call.method.is("proxy/successor") || call.method.is("_proxy/successor"));
        match call.params.filter(|_| wrapped).and_then(message::successor_call) {
            Some(inner) => (inner, Peer::Successor),
            None => (call, Peer::Counterpart),
        }
    }

    fn new_token(&mut self) -> Token {
        self.tokens += 1;
        Token::new(self.tokens)
    }
}

fn rejected(reason: Reason, answered: bool, code: Option<i32>, place: Place<'_>) -> Event<'_> {
    Event::Rejected { reason, answered, code, raw: place.raw, size: place.size }
}

/// A method as text; a lone surrogate in it, which no known method has, is replaced.
fn name(method: Str<'_>) -> Cow<'_, str> {
    match method.text() {
        crate::json::Text::Utf8(text) => text,
        crate::json::Text::Wtf8(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}
