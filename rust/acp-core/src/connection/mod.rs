//! The protocol state of one connection.
//!
//! Owns what was received and not answered, what was sent and not answered, and the bytes to send. Bytes go in and
//! events come out ([`Connection::receive`]); calls and answers go in and bytes come out
//! ([`Connection::take_output`]). Knows nothing of what a method means, save for `initialize` and `$/cancel_request`.
//!
//! Every request that was received is answered exactly once: by [`Connection::respond`] or
//! [`Connection::respond_error`], or, where it cannot be served, by the connection itself.

mod calls;
mod handshake;
mod output;
mod receive;
mod requests;

use crate::batch::Batches;
use crate::event::{Counters, Event};
use crate::frame::Splitter;
use crate::id::{Id, Token};
use crate::options::Options;
use crate::schema::Fault;
use crate::version::{self, Refusal};
use calls::Calls;
use handshake::Handshake;
use output::{Output, write_call, write_error, write_result_head};
use requests::{ReplyTo, Requests};

/// An output buffer up to this capacity is kept by [`Connection::clear_output`].
const KEPT_CAPACITY: usize = 256 << 10;

/// The notification that cancels a request.
const CANCEL: &str = "$/cancel_request";

/// Why a message was not sent. Nothing was queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendError<E> {
    /// The rules of initialization do not allow it now, or not from this side.
    Refused(Refusal),
    /// Its params could not be written.
    Params(E),
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Answered {
    /// It was queued.
    Sent,
    /// It was to be the success of `initialize`, and does not fit: the peer is told that this side failed.
    Unfit(Vec<Fault>),
    /// The request was answered before.
    Before,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    splitter: Splitter,
    state: State,
}

/// All but the splitting of the input.
#[derive(Debug)]
struct State {
    options: Options,
    out: Output,
    requests: Requests,
    calls: Calls,
    batches: Batches,
    handshake: Handshake,
    counters: Counters,
    tokens: u64,
}

impl Connection {
    /// Makes a connection to which nothing has happened.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            splitter: Splitter::new(options.max_message_bytes).keeping(options.kept_bytes),
            state: State {
                options,
                out: Output::default(),
                requests: Requests::default(),
                calls: Calls::default(),
                batches: Batches::default(),
                handshake: Handshake::default(),
                counters: Counters::default(),
                tokens: 0,
            },
        }
    }

    /// Takes a chunk of a byte stream of newline-separated frames.
    pub fn receive(&mut self, bytes: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        let Self { splitter, state } = self;
        splitter.push(bytes, &mut |frame| state.frame(frame, sink));
    }

    /// Takes one whole frame of a transport that keeps frames apart.
    pub fn receive_frame(&mut self, frame: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        let Self { splitter, state } = self;
        splitter.push_frame(frame, &mut |frame| state.frame(frame, sink));
    }

    /// Tells that no more input comes; a last line without a newline is handled.
    pub fn end_of_input(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        let Self { splitter, state } = self;
        splitter.finish(&mut |frame| state.frame(frame, sink));
    }

    /// Queues a request and returns its id. `params` appends JSON text, an object or array, and tells whether it did.
    /// Those of `initialize` are made to ask for the version of the connection.
    ///
    /// # Errors
    /// That of `params`, and what the rules of initialization refuse; then nothing is queued and no id is used.
    pub fn request<E>(
        &mut self,
        method: &str,
        params: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<i64, SendError<E>> {
        let state = &mut self.state;
        state.check_request(method).map_err(SendError::Refused)?;
        let id = state.calls.next_id();
        let opens = state.opens(method);
        let asks = opens && version::sends_initialize(&state.options);
        let version = asks.then_some(state.options.version);
        state.out.frame(|out| {
            write_call(out, Some(id), method, |out| write_asking(out, version, params))
        })?;
        state.calls.add(method, opens);
        state.sent(opens);
        Ok(id)
    }

    /// Queues a notification. `params` appends JSON text, an object or array, and tells whether it did.
    ///
    /// # Errors
    /// That of `params`, and what the rules of initialization refuse; then nothing is queued.
    pub fn notify<E>(
        &mut self,
        method: &str,
        params: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<(), SendError<E>> {
        self.state.check_notification(method).map_err(SendError::Refused)?;
        self.state.out.frame(|out| {
            write_call(out, None, method, |out| params(out).map_err(SendError::Params))
        })
    }

    /// Queues `$/cancel_request` for a request of ours, at most once. False when it does not wait for an answer or was
    /// cancelled before. It goes on waiting: the peer still answers.
    pub fn cancel(&mut self, id: i64) -> bool {
        let first = self.state.calls.cancel(id);
        if first {
            let params = |out: &mut Vec<u8>| {
                out.extend_from_slice(b"{\"requestId\":");
                Id::Int(id).write(out);
                out.push(b'}');
                Ok::<bool, core::convert::Infallible>(true)
            };
            let Ok(()) = self.state.out.frame(|out| write_call(out, None, CANCEL, params));
        }
        first
    }

    /// Gives up a request of ours: its answer will be swallowed. False when it does not wait for an answer.
    pub fn forget(&mut self, id: i64) -> bool {
        let Some(call) = self.state.calls.forget(id) else { return false };
        if call.opens {
            self.state.handshake.end(false);
        }
        true
    }

    /// Queues the success of a request. `result` appends JSON text.
    ///
    /// # Errors
    /// That of `result`; then nothing is queued and the request stays open.
    pub fn respond<E>(
        &mut self,
        token: Token,
        result: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Answered, E> {
        let state = &mut self.state;
        let Some(request) = state.requests.get(token) else { return Ok(Answered::Before) };
        let version = request.opens.then_some(state.options.version);
        let mut faults = None;
        let write = |out: &mut Vec<u8>| {
            faults = write_success(out, &request.id, version, result)?;
            Ok(())
        };
        match request.reply {
            ReplyTo::Line => state.out.frame(write)?,
            ReplyTo::Slot(slot) => {
                let mut reply = Vec::new();
                write(&mut reply)?;
                state.out.sure_frame(|out| state.batches.fill(slot, reply, out));
            }
        }
        state.close(token, faults.is_none());
        Ok(faults.map_or(Answered::Sent, Answered::Unfit))
    }

    /// Queues the failure of a request; `data` is JSON text. False when it was answered before.
    pub fn respond_error(
        &mut self,
        token: Token,
        code: i32,
        message: &str,
        data: Option<&str>,
    ) -> bool {
        let state = &mut self.state;
        let Some(request) = state.close(token, false) else { return false };
        state.reply(request.reply, |out| write_error(out, &request.id, code, message, data));
        true
    }

    /// Tells that a notification of a batch was handled.
    pub fn handled(&mut self, token: Token) {
        let state = &mut self.state;
        state.out.sure_frame(|out| state.batches.handled(token, out));
    }

    /// Whether a request may be served now. A request that came while `initialize` was unanswered counts only once that
    /// has succeeded: asked before that, or after it failed, this refuses the request and returns false. Also false
    /// when it was answered before.
    pub fn admit(&mut self, token: Token) -> bool {
        let state = &mut self.state;
        let Some(request) = state.requests.get(token) else { return false };
        if !request.conditional || !state.is_too_early() {
            return true;
        }
        let refusal = Refusal::TooEarly { method: request.method.clone() };
        state.counters.refused += 1;
        self.respond_error(token, refusal.code(), &refusal.message(), refusal.data().as_deref());
        false
    }

    /// What to answer to a request that nobody serves. `params` is the JSON text that came with it.
    #[must_use]
    pub fn unhandled(&self, method: &str, params: Option<&str>) -> Refusal {
        version::unhandled(&self.state.options, method, params)
    }

    /// The method of a request that is not answered.
    #[must_use]
    pub fn method_of(&self, token: Token) -> Option<&str> {
        self.state.requests.get(token).map(|request| &*request.method)
    }

    /// Whether the peer cancelled a request that is not answered.
    #[must_use]
    pub fn is_cancelled(&self, token: Token) -> bool {
        self.state.requests.get(token).is_some_and(|request| request.cancelled)
    }

    /// Takes the queued bytes: whole frames, each ending in a newline.
    pub fn take_output(&mut self) -> Vec<u8> {
        self.state.out.take()
    }

    /// The queued bytes, left where they are.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        self.state.out.bytes()
    }

    /// Drops the queued bytes, and keeps their memory for the next ones.
    pub fn clear_output(&mut self) {
        self.state.out.clear(KEPT_CAPACITY);
    }

    /// Number of queued bytes.
    #[must_use]
    pub fn output_len(&self) -> usize {
        self.state.out.len()
    }

    /// Id and method of each request of ours that waits for its answer, in the order of sending.
    pub fn pending(&self) -> impl Iterator<Item = (i64, &str)> {
        self.state.calls.pending()
    }

    /// Number of requests of the peer that are not answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.state.requests.len()
    }

    /// Number of batches whose replies are not complete.
    #[must_use]
    pub fn open_batches(&self) -> usize {
        self.state.batches.len()
    }

    /// Drops what is queued, and the replies that wait for others of their batches: nobody takes them any more.
    pub fn abandon_output(&mut self) {
        self.state.batches.abandon();
        drop(self.take_output());
    }

    /// Bytes of memory that replies take which wait for others of their batches.
    #[must_use]
    pub fn held_replies(&self) -> usize {
        self.state.batches.held()
    }

    /// Bytes of an unfinished frame that are held.
    #[must_use]
    pub fn input_len(&self) -> usize {
        self.splitter.held()
    }

    /// Whether `initialize` succeeded.
    #[must_use]
    pub fn initialized(&self) -> bool {
        self.state.handshake.initialized()
    }

    /// What was seen so far, in numbers.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.state.counters
    }

    /// The settings that the connection was made with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.state.options
    }
}

impl State {
    /// Takes a request off the list of those not answered.
    fn close(&mut self, token: Token, succeeded: bool) -> Option<requests::Open> {
        let request = self.requests.remove(token)?;
        if request.opens {
            self.handshake.end(succeeded);
            if succeeded && self.requests.has_conditional() {
                self.handshake.move_on();
            }
        }
        Some(request)
    }

    fn reply(&mut self, to: ReplyTo, write: impl FnOnce(&mut Vec<u8>)) {
        match to {
            ReplyTo::Line => self.out.sure_frame(write),
            ReplyTo::Slot(slot) => {
                let mut reply = Vec::new();
                write(&mut reply);
                self.out.sure_frame(|out| self.batches.fill(slot, reply, out));
            }
        }
    }
}

/// Appends params; with `version`, those of an `initialize`, which asks for that version whatever its caller wrote.
fn write_asking<E>(
    out: &mut Vec<u8>,
    version: Option<u16>,
    params: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
) -> Result<bool, SendError<E>> {
    let start = out.len();
    let written = params(out).map_err(SendError::Params)?;
    let Some(version) = version else { return Ok(written) };
    let text = text_from(out, start).filter(|_| written);
    let text = version::ask(version, text).map_err(SendError::Refused)?;
    out.truncate(start);
    out.extend_from_slice(text.as_bytes());
    Ok(true)
}

/// Appends a response; with `version`, one to `initialize`, which names that version whatever the handler wrote. The
/// faults of a result that cannot be such a response; then an error took its place.
fn write_success<E>(
    out: &mut Vec<u8>,
    id: &Id,
    version: Option<u16>,
    result: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<Option<Vec<Fault>>, E> {
    let start = out.len();
    write_result_head(out, id);
    let head = out.len();
    result(out)?;
    if let Some(version) = version {
        match version::answer(version, text_from(out, head).unwrap_or_default()) {
            Ok(text) => {
                out.truncate(head);
                out.extend_from_slice(text.as_bytes());
            }
            Err(faults) => {
                out.truncate(start);
                write_error(out, id, -32603, "Internal error", None);
                return Ok(Some(faults));
            }
        }
    }
    out.push(b'}');
    Ok(None)
}

fn text_from(out: &[u8], start: usize) -> Option<&str> {
    out.get(start..).and_then(|text| core::str::from_utf8(text).ok())
}
