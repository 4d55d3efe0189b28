//! One connection for Python.
//!
//! Owns the turning of events into Python objects and of Python objects into params, results and errors; the protocol
//! state is the core's.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use acp_core::connection::{Answered, Connection as Core, SendError};
use acp_core::event::{Event, Outcome, Reason};
use acp_core::id::Token;
use acp_core::json::Str;
use acp_core::options::{BatchPolicy, Options, Role};
use acp_core::schema::decode::Options as Rules;
use acp_core::schema::encode::Position;
use acp_core::schema::table::{Method, Side, Type};
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple, PyWeakrefReference};

use crate::error::{self, InternalError};
use crate::events::{
    self, Answer, Body, Decoding, FrameRejected, Methods, NotificationReceived, RequestCancelled,
    RequestReceived, ResponseReceived, ResponseRejected,
};
use crate::functions;
use crate::model::Model;
use crate::versions::{self, Parts};
use crate::{cache, classes, text};

/// All protocol state of one connection.
#[pyclass(module = "acp._core")]
pub struct Connection {
    core: Core,
    ours: Methods,
    theirs: Methods,
    decoding: Py<Decoding>,
    /// The core failed in the middle of something, and its state cannot be trusted any more.
    failed: bool,
}

/// Said when a peer's version is read only by the compatibility profile.
const LOOSE_VERSION: &CStr =
    c"the peer's protocolVersion is no integer of the protocol; it was read as version 1";

/// The data of an error: None when there is no such member, which Python's None is not.
struct Data<'py>(Option<Bound<'py, PyAny>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Data<'py> {
    type Error = std::convert::Infallible;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> Result<Self, Self::Error> {
        Ok(Self(Some(data.to_owned())))
    }
}

fn word(py: Python<'_>, literal: Str<'_>) -> PyResult<Py<PyString>> {
    let word = if literal.escaped {
        text::from_literal(py, literal)?
    } else {
        cache::string(py, literal.raw)
    };
    Ok(word.unbind())
}

fn lane(py: Python<'_>, lane: Option<Str<'_>>) -> PyResult<Py<PyAny>> {
    Ok(match lane {
        Some(lane) => word(py, lane)?.into_any(),
        None => py.None(),
    })
}

/// What a message's params or result have to be, and where they stand.
fn position(ty: &Type) -> Position {
    match ty {
        Type::Union(union) => Position::In(union),
        Type::Any => Position::Free,
        _ => Position::Bare,
    }
}

/// Whether a method is outside of the protocol, so that its messages may hold anything.
fn is_extension(method: &str) -> bool {
    method.starts_with('_')
}

/// Appends params or a result for a peer of `version`, as a `ty`; None when the version has no such method.
fn write_as(
    version: u16,
    ty: Option<Type>,
    extension: bool,
    value: &Bound<'_, PyAny>,
    out: &mut Vec<u8>,
) -> PyResult<()> {
    if ty.is_none()
        && !extension
        && classes::of(value).is_some_and(|class| class.version() != version)
    {
        return Err(functions::foreign(&[]));
    }
    let ty = ty.unwrap_or(Type::Any);
    functions::write(&ty, value, position(&ty), Some(version), out)
}

/// Appends params; false when there are none.
fn write_params(
    version: u16,
    method: &str,
    known: Option<&Method>,
    params: &Bound<'_, PyAny>,
    out: &mut Vec<u8>,
) -> PyResult<bool> {
    if params.is_none() {
        return Ok(false);
    }
    let structured = params.is_instance_of::<Model>()
        || params.is_instance_of::<PyDict>()
        || params.is_instance_of::<PyList>()
        || params.is_instance_of::<PyTuple>();
    if !structured {
        let text = "JSON-RPC params must be an object or array";
        return Err(error::local(params.py(), -32602, text));
    }
    write_as(version, known.map(|method| method.params), is_extension(method), params, out)?;
    Ok(true)
}

/// The exception for a message that was not sent.
fn not_sent(py: Python<'_>, error: SendError<PyErr>) -> PyErr {
    match error {
        SendError::Refused(refusal) => error::refused(py, refusal),
        SendError::Params(error) => error,
    }
}

impl Connection {
    fn collect(
        &mut self,
        py: Python<'_>,
        feed: impl FnOnce(&mut Core, &mut dyn FnMut(Event<'_>)),
    ) -> PyResult<Py<PyList>> {
        let list = PyList::empty(py);
        let mut failure = None;
        let Self { core, ours, theirs, decoding, .. } = self;
        let mut sink = |event: Event<'_>| {
            let made = make(py, event, ours, theirs, decoding);
            if let Err(error) = made.and_then(|event| list.append(event)) {
                failure.get_or_insert(error);
            }
        };
        let loose = core.counters().lax_versions;
        feed(core, &mut sink);
        if core.counters().lax_versions > loose {
            PyErr::warn(py, py.get_type::<PyUserWarning>().as_any(), LOOSE_VERSION, 1)?;
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(list.unbind()),
        }
    }

    /// Runs `work`. A panic in it, which is a fault of the core's, ends this connection and no other.
    fn guarded<R>(&mut self, work: impl FnOnce(&mut Self) -> PyResult<R>) -> PyResult<R> {
        if !self.failed {
            if let Ok(done) = catch_unwind(AssertUnwindSafe(|| work(self))) {
                return done;
            }
            self.failed = true;
        }
        Err(InternalError::new_err("the protocol core failed; this connection has to be closed"))
    }
}

fn make<'py>(
    py: Python<'py>,
    event: Event<'_>,
    ours: &mut Methods,
    theirs: &mut Methods,
    decoding: &Py<Decoding>,
) -> PyResult<Bound<'py, PyAny>> {
    let body = |text: Option<&str>, method| Body {
        text: text.map(Box::from),
        method,
        decoding: decoding.clone_ref(py),
    };
    let head = |raw: &[u8]| decoding.get().head(py, raw).unbind();
    Ok(match event {
        Event::Notification { token, method, params, lane: key, peer, size } => {
            let (known, method) = ours.named(py, false, method)?;
            let event = NotificationReceived {
                token: token.map(Token::get),
                method,
                lane: lane(py, key)?,
                size,
                peer,
                body: body(params, known),
            };
            Bound::new(py, event)?.into_any()
        }
        Event::Request { token, id, method, params, lane: key, peer, size } => {
            let (known, method) = ours.named(py, true, method)?;
            let event = RequestReceived {
                token: token.get(),
                id: events::id(py, id)?.unbind(),
                method,
                lane: lane(py, key)?,
                size,
                peer,
                body: body(params, known),
            };
            Bound::new(py, event)?.into_any()
        }
        Event::Response { id, method, outcome, lane: key, size } => {
            let known = theirs.find(py, true, method);
            let (answer, text) = match outcome {
                Outcome::Error { code, message, data, .. } => {
                    let message = text::from_literal(py, message)?.unbind();
                    (Answer::Error(code, message, data.map(Box::from)), None)
                }
                Outcome::Result(text) => (Answer::Result, Some(text)),
                Outcome::Mismatch { selected, text } => (Answer::Mismatch(selected), Some(text)),
                Outcome::Malformed { reason, raw } => {
                    let event = ResponseRejected {
                        id,
                        method: cache::string(py, method).unbind(),
                        lane: py.None(),
                        reason: reason.as_str(),
                        size,
                        head: head(raw),
                    };
                    return Ok(Bound::new(py, event)?.into_any());
                }
            };
            let event = ResponseReceived {
                id,
                method: cache::string(py, method).unbind(),
                lane: lane(py, key)?,
                size,
                answer,
                body: body(text, known),
            };
            Bound::new(py, event)?.into_any()
        }
        Event::Cancelled { token, id } => {
            let event = RequestCancelled { token: token.get(), id: events::id(py, id)?.unbind() };
            Bound::new(py, event)?.into_any()
        }
        Event::Rejected { reason, answered, code, raw, size } => {
            let reason = reason.as_str();
            let event = FrameRejected { reason, answered, code, size, head: head(raw) };
            Bound::new(py, event)?.into_any()
        }
    })
}

#[pymethods]
impl Connection {
    #[new]
    #[pyo3(signature = (role, *, version = 1, batches = "accept", require_initialize = false, allow_reinitialize = true, guard = true, lax = false, unknown_values = "raise", observer = None, shown_bytes = 0, max_message_bytes = 67_108_864, max_batch_entries = 1024))]
    #[expect(clippy::too_many_arguments, reason = "all but the first are given by name")]
    #[expect(clippy::fn_params_excessive_bools, reason = "each is a setting of its own")]
    fn new(
        py: Python<'_>,
        role: &str,
        version: u16,
        batches: &str,
        require_initialize: bool,
        allow_reinitialize: bool,
        guard: bool,
        lax: bool,
        unknown_values: &str,
        observer: Option<&Bound<'_, PyAny>>,
        shown_bytes: usize,
        max_message_bytes: usize,
        max_batch_entries: usize,
    ) -> PyResult<Self> {
        let (role, ours, theirs) = match role {
            "agent" => (Role::Agent, Side::Agent, Side::Client),
            "client" => (Role::Client, Side::Client, Side::Agent),
            _ => return Err(PyValueError::new_err("role has to be 'agent' or 'client'")),
        };
        let batches = match batches {
            "accept" => BatchPolicy::Accept,
            "reject" => BatchPolicy::Reject,
            _ => return Err(PyValueError::new_err("batches has to be 'accept' or 'reject'")),
        };
        classes::schema(version)?;
        let options = Options {
            version,
            batches,
            require_initialize,
            allow_reinitialize,
            guard,
            lax,
            max_message_bytes,
            max_batch_entries,
            kept_bytes: shown_bytes,
            ..Options::new(role)
        };
        let decoding = Decoding {
            version,
            options: Rules { lax, keep_unknown: functions::keeps(unknown_values)? },
            shown: shown_bytes,
            observer: observer.map(PyWeakrefReference::new).transpose()?.map(Bound::unbind),
        };
        Ok(Self {
            core: Core::new(options),
            ours: Methods::new(version, ours),
            theirs: Methods::new(version, theirs),
            decoding: Py::new(py, decoding)?,
            failed: false,
        })
    }

    /// Takes a chunk of a byte stream of newline-separated frames.
    fn receive(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<Py<PyList>> {
        self.guarded(|this| this.collect(py, |core, mut sink| core.receive(data, &mut sink)))
    }

    /// Takes one whole frame of a transport that keeps frames apart.
    fn receive_frame(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<Py<PyList>> {
        self.guarded(|this| this.collect(py, |core, mut sink| core.receive_frame(data, &mut sink)))
    }

    /// Tells that no more input comes.
    fn end_of_input(&mut self, py: Python<'_>) -> PyResult<Py<PyList>> {
        self.guarded(|this| this.collect(py, |core, mut sink| core.end_of_input(&mut sink)))
    }

    /// Queues a request and returns its id.
    #[pyo3(signature = (method, params = None))]
    fn request(
        &mut self,
        py: Python<'_>,
        method: &str,
        params: Option<Bound<'_, PyAny>>,
    ) -> PyResult<i64> {
        let params = params.unwrap_or_else(|| py.None().into_bound(py));
        self.guarded(|this| {
            let known = this.theirs.find(py, true, method);
            let version = this.decoding.get().version;
            this.core
                .request(method, |out| write_params(version, method, known, &params, out))
                .map_err(|error| not_sent(py, error))
        })
    }

    /// Queues a notification.
    #[pyo3(signature = (method, params = None))]
    fn notify(
        &mut self,
        py: Python<'_>,
        method: &str,
        params: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let params = params.unwrap_or_else(|| py.None().into_bound(py));
        self.guarded(|this| {
            let known = this.theirs.find(py, false, method);
            let version = this.decoding.get().version;
            this.core
                .notify(method, |out| write_params(version, method, known, &params, out))
                .map_err(|error| not_sent(py, error))
        })
    }

    /// Queues `$/cancel_request` for a pending request of ours, once.
    fn cancel(&mut self, request_id: i64) -> bool {
        self.core.cancel(request_id)
    }

    /// Gives up a pending request.
    fn forget(&mut self, request_id: i64) -> bool {
        self.core.forget(request_id)
    }

    /// Queues the answer of a request.
    fn respond(&mut self, token: u64, result: &Bound<'_, PyAny>) -> PyResult<bool> {
        let token = Token::new(token);
        self.guarded(|this| {
            let (known, extension) = match this.core.method_of(token) {
                Some(method) => (this.ours.find(result.py(), true, method), is_extension(method)),
                None => (None, true),
            };
            let (version, ty) = (this.decoding.get().version, known.map(|method| method.result));
            let answered =
                this.core.respond(token, |out| write_as(version, ty, extension, result, out))?;
            match answered {
                Answered::Before => Ok(false),
                // Whoever uses the compatibility profile is not told of a fault that the peer is told of.
                Answered::Unfit(faults) if !this.decoding.get().options.lax => {
                    Err(error::invalid(result.py(), "InitializeResponse", faults))
                }
                Answered::Sent | Answered::Unfit(_) => Ok(true),
            }
        })
    }

    /// Queues an error answer.
    #[pyo3(signature = (token, code, message, data = Data(None)))]
    fn respond_error(
        &mut self,
        token: u64,
        code: i32,
        message: &Bound<'_, PyString>,
        data: Data<'_>,
    ) -> PyResult<bool> {
        let mut text = Vec::new();
        if let Data(Some(data)) = data {
            functions::write(&Type::Any, &data, Position::Free, None, &mut text)?;
        }
        let text = std::str::from_utf8(&text)
            .map_err(|_| PyValueError::new_err("the data cannot be written"))?;
        let text = (!text.is_empty()).then_some(text);
        // What a peer sent may come back here, a lone surrogate with it, which is no reason to lose the error.
        let message = message.to_string_lossy();
        self.guarded(|this| Ok(this.core.respond_error(Token::new(token), code, &message, text)))
    }

    /// Queues an answer of the peer as the answer of a request.
    fn forward(&mut self, token: u64, answer: &Bound<'_, ResponseReceived>) -> PyResult<bool> {
        let token = Token::new(token);
        let py = answer.py();
        let answer = answer.get();
        self.guarded(|this| match (&answer.answer, &answer.body.text) {
            (Answer::Result, Some(text)) => {
                let answered = this.core.respond(token, |out| {
                    out.extend_from_slice(text.as_bytes());
                    Ok::<(), PyErr>(())
                })?;
                Ok(!matches!(answered, Answered::Before))
            }
            (Answer::Error(code, message, data), _) => {
                let message = message.bind(py).to_string_lossy();
                Ok(this.core.respond_error(token, *code, &message, data.as_deref()))
            }
            _ => Ok(false),
        })
    }

    /// The error for a request that nobody serves.
    fn unhandled<'py>(
        &self,
        py: Python<'py>,
        event: &Bound<'py, RequestReceived>,
    ) -> PyResult<Parts<'py>> {
        let event = event.get();
        let method = event.method.bind(py).to_string_lossy();
        versions::parts(py, &self.core.unhandled(&method, event.body.text.as_deref()))
    }

    /// Makes the core fail, to test that this ends the one connection.
    #[expect(clippy::panic, reason = "it is what is asked for")]
    fn _fail(&mut self) -> PyResult<()> {
        self.guarded(|_| panic!("asked to fail"))
    }

    /// Tells that the handler of a batched notification is done.
    fn handled(&mut self, token: u64) {
        self.core.handled(Token::new(token));
    }

    /// Whether a received request may be served now; one that came too early is refused, and counts as answered.
    fn admit(&mut self, token: u64) -> bool {
        self.core.admit(Token::new(token))
    }

    /// The queued bytes.
    fn take_output<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let output = PyBytes::new(py, self.core.output());
        self.core.clear_output();
        output
    }

    #[getter]
    fn output_size(&self) -> usize {
        self.core.output_len()
    }

    fn abandon_output(&mut self) {
        self.core.abandon_output();
    }

    #[getter]
    fn held_replies(&self) -> usize {
        self.core.held_replies()
    }

    #[getter]
    fn pending(&self) -> Vec<(i64, String)> {
        self.core.pending().map(|(id, method)| (id, method.to_owned())).collect()
    }

    #[getter]
    fn in_flight(&self) -> usize {
        self.core.in_flight()
    }

    #[getter]
    fn initialized(&self) -> bool {
        self.core.initialized()
    }

    /// What was seen so far, in numbers.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = self.core.counters();
        let dict = PyDict::new(py);
        dict.set_item("frames", counters.frames)?;
        dict.set_item("requests", counters.requests)?;
        dict.set_item("notifications", counters.notifications)?;
        dict.set_item("responses", counters.responses)?;
        dict.set_item("malformed_responses", counters.malformed_responses)?;
        dict.set_item("swallowed_responses", counters.swallowed_responses)?;
        dict.set_item("lost_notifications", counters.lost_notifications)?;
        dict.set_item("unanswered", counters.unanswered)?;
        dict.set_item("idle_cancellations", counters.idle_cancellations)?;
        dict.set_item("refused", counters.refused)?;
        dict.set_item("early_notifications", counters.early_notifications)?;
        dict.set_item("lax_versions", counters.lax_versions)?;
        for reason in Reason::ALL {
            dict.set_item(format!("rejected_{}", reason.as_str()), counters.rejected(reason))?;
        }
        Ok(dict)
    }
}
