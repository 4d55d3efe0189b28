//! Events as Python objects.
//!
//! Owns the copies of what an event borrows, and decoding on demand: params and results stay JSON text until somebody
//! asks for them.

use acp_core::event::Peer;
use acp_core::id::Id;
use acp_core::json::Str;
use acp_core::schema::Skipped;
use acp_core::schema::decode::Options;
use acp_core::schema::table::{Method, Side, Type};
use acp_core::version::Refusal;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyWeakrefMethods, PyWeakrefReference};

use crate::{cache, classes, error, functions, plain, text, twins, versions};

/// How the params and results of one connection are decoded, and who is told what was left out of them.
#[pyclass(frozen, module = "acp._core")]
pub struct Decoding {
    /// Protocol version.
    pub version: u16,
    /// The rules.
    pub options: Options,
    /// Most bytes that are shown of what was received.
    pub shown: usize,
    /// Held weakly, since it may well lead back to the connection, and the collector does not look into events.
    pub observer: Option<Py<PyWeakrefReference>>,
}

impl Decoding {
    #[cold]
    fn tell(
        &self,
        py: Python<'_>,
        (method, part, text): (&str, &str, &str),
        skipped: Skipped,
    ) -> PyResult<()> {
        let observer = self.observer.as_ref().and_then(|observer| observer.bind(py).upgrade());
        let Some(observer) = observer else { return Ok(()) };
        let places = error::invalid(py, part, skipped.faults).into_value(py);
        let arguments = (method, part, skipped.count, places, text.len(), self.head(py, text));
        observer.call_method1("skipped", arguments).map(drop)
    }

    /// As many of the first bytes as are shown.
    pub fn head<'py>(&self, py: Python<'py>, raw: impl AsRef<[u8]>) -> Bound<'py, PyBytes> {
        let raw = raw.as_ref();
        PyBytes::new(py, raw.get(..self.shown).unwrap_or(raw))
    }
}

/// JSON text of params or of a result, and what it has to be.
pub struct Body {
    /// The text, checked; None when there is none.
    pub text: Option<Box<str>>,
    /// The method; None for one that the schema does not know.
    pub method: Option<&'static Method>,
    /// How it is decoded.
    pub decoding: Py<Decoding>,
}

impl Body {
    fn decode<'py>(
        &self,
        py: Python<'py>,
        part: &str,
        ty: impl Fn(&Method) -> Type,
    ) -> PyResult<Bound<'py, PyAny>> {
        match (self.method, self.text.as_deref()) {
            (Some(method), text) => {
                let decoding = self.decoding.get();
                // Absent params and results read as null.
                let text = text.unwrap_or("null");
                let (version, options) = (decoding.version, decoding.options);
                let (made, skipped) =
                    functions::decode_checked(py, version, part, &ty(method), text, options)?;
                if skipped.count > 0 {
                    decoding.tell(py, (method.name, part, text), skipped)?;
                }
                Ok(made)
            }
            (None, Some(text)) => plain::loads(py, text),
            (None, None) => Ok(py.None().into_bound(py)),
        }
    }

    /// What the caller of a request gets for a result that does not fit. Where the official Python SDK is stood in for,
    /// that is what the class of the result raises, which is pydantic's where that is in use.
    #[cold]
    fn refused(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let Decoding { version, options, .. } = *self.decoding.get();
        match self.method.map(|method| method.result) {
            Some(Type::Record(record)) if options.lax => {
                let text = PyString::new(py, self.text.as_deref().unwrap_or("null"));
                match classes::class(py, version, record) {
                    Ok(class) => twins::refusal(&class.ty(py), text.as_any(), true, error),
                    Err(_) => error,
                }
            }
            _ => error,
        }
    }

    fn raw<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.text.as_deref().map(|text| PyBytes::new(py, text.as_bytes()))
    }
}

fn peer_name(peer: Peer) -> &'static str {
    match peer {
        Peer::Counterpart => "counterpart",
        Peer::Successor => "successor",
    }
}

/// A request id as Python has it.
pub fn id<'py>(py: Python<'py>, id: &Id) -> PyResult<Bound<'py, PyAny>> {
    Ok(match id {
        Id::Null => py.None().into_bound(py),
        Id::Int(number) => number.into_pyobject(py)?.into_any(),
        Id::Str(string) => text::from_text(py, string)?.into_any(),
    })
}

/// A request of the peer.
#[pyclass(frozen, module = "acp._core")]
pub struct RequestReceived {
    #[pyo3(get)]
    pub token: u64,
    #[pyo3(get)]
    pub id: Py<PyAny>,
    #[pyo3(get)]
    pub method: Py<PyString>,
    #[pyo3(get)]
    pub lane: Py<PyAny>,
    #[pyo3(get)]
    pub size: usize,
    pub peer: Peer,
    pub body: Body,
}

#[pymethods]
impl RequestReceived {
    #[getter]
    fn peer(&self) -> &'static str {
        peer_name(self.peer)
    }

    /// The params as the method's type.
    pub fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.body.decode(py, "params", |method| method.params)
    }

    /// The JSON text of the params as received.
    fn raw_params<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.body.raw(py)
    }
}

/// A notification of the peer.
#[pyclass(frozen, module = "acp._core")]
pub struct NotificationReceived {
    #[pyo3(get)]
    pub token: Option<u64>,
    #[pyo3(get)]
    pub method: Py<PyString>,
    #[pyo3(get)]
    pub lane: Py<PyAny>,
    #[pyo3(get)]
    pub size: usize,
    pub peer: Peer,
    pub body: Body,
}

#[pymethods]
impl NotificationReceived {
    #[getter]
    fn peer(&self) -> &'static str {
        peer_name(self.peer)
    }

    /// The params as the method's type.
    pub fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.body.decode(py, "params", |method| method.params)
    }

    /// The JSON text of the params as received.
    fn raw_params<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.body.raw(py)
    }
}

/// What a peer answered, without the borrow.
pub enum Answer {
    /// Success.
    Result,
    /// An error: code, message, JSON text of the data.
    Error(i32, Py<PyString>, Option<Box<str>>),
    /// Success of an `initialize`, with a version that is not the connection's.
    Mismatch(u16),
}

/// The answer to a request of ours.
#[pyclass(frozen, module = "acp._core")]
pub struct ResponseReceived {
    #[pyo3(get)]
    pub id: i64,
    #[pyo3(get)]
    pub method: Py<PyString>,
    #[pyo3(get)]
    pub lane: Py<PyAny>,
    #[pyo3(get)]
    pub size: usize,
    pub answer: Answer,
    pub body: Body,
}

#[pymethods]
impl ResponseReceived {
    #[getter]
    fn outcome(&self) -> &'static str {
        match self.answer {
            Answer::Result => "result",
            Answer::Error(..) => "error",
            Answer::Mismatch(_) => "mismatch",
        }
    }

    /// The version that the peer has chosen, where it is not the connection's.
    #[getter]
    fn selected(&self) -> Option<u16> {
        if let Answer::Mismatch(selected) = self.answer { Some(selected) } else { None }
    }

    /// The result as the method's type.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.answer {
            Answer::Result => self
                .body
                .decode(py, "result", |method| method.result)
                .map_err(|error| self.body.refused(py, error)),
            Answer::Error(..) | Answer::Mismatch(_) => {
                Err(PyValueError::new_err("the response has no result; its outcome tells"))
            }
        }
    }

    /// The JSON text of the result as received.
    fn raw_result<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.body.raw(py)
    }

    /// Code, message and data of an error, or of what is said of another version.
    fn error<'py>(&self, py: Python<'py>) -> PyResult<(i32, Py<PyString>, Bound<'py, PyAny>)> {
        match &self.answer {
            Answer::Error(code, message, data) => {
                let data = match data {
                    Some(data) => plain::loads(py, data)?,
                    None => py.None().into_bound(py),
                };
                Ok((*code, message.clone_ref(py), data))
            }
            Answer::Mismatch(selected) => {
                let refusal = Refusal::OtherVersion {
                    required: self.body.decoding.get().version,
                    selected: *selected,
                };
                let (code, message, data) = versions::parts(py, &refusal)?;
                Ok((code, PyString::new(py, &message).unbind(), data))
            }
            Answer::Result => {
                Err(PyValueError::new_err("the response is no error; its outcome tells"))
            }
        }
    }
}

/// An answer to a request of ours that could not be read.
#[pyclass(frozen, get_all, module = "acp._core")]
pub struct ResponseRejected {
    pub id: i64,
    pub method: Py<PyString>,
    pub lane: Py<PyAny>,
    pub reason: &'static str,
    pub size: usize,
    pub head: Py<PyBytes>,
}

/// The peer cancelled a request that is not answered yet.
#[pyclass(frozen, get_all, module = "acp._core")]
pub struct RequestCancelled {
    pub token: u64,
    pub id: Py<PyAny>,
}

/// A frame, or an entry of a batch, that is no message.
#[pyclass(frozen, get_all, module = "acp._core")]
pub struct FrameRejected {
    pub reason: &'static str,
    pub answered: bool,
    pub code: Option<i32>,
    pub size: usize,
    pub head: Py<PyBytes>,
}

/// The methods that one side of a connection handles, with the one that was asked for last.
pub struct Methods {
    version: u16,
    side: Side,
    last: Option<(&'static Method, Py<PyString>)>,
}

impl Methods {
    /// The methods of a side.
    pub fn new(version: u16, side: Side) -> Self {
        Self { version, side, last: None }
    }

    /// The method of a name.
    pub fn find(&mut self, py: Python<'_>, request: bool, name: &str) -> Option<&'static Method> {
        if let Some((last, _)) = &self.last
            && last.request == request
            && last.name == name
        {
            return Some(last);
        }
        let schema = classes::schema(self.version).ok()?;
        let found = schema
            .method(self.side, request, name)
            .or_else(|| schema.method(Side::Protocol, request, name))?;
        self.last = Some((found, cache::string(py, name).unbind()));
        Some(found)
    }

    /// The method of a name, and the name as Python has it.
    pub fn named(
        &mut self,
        py: Python<'_>,
        request: bool,
        name: Str<'_>,
    ) -> PyResult<(Option<&'static Method>, Py<PyString>)> {
        let known = match name.text().as_str() {
            Some(name) => self.find(py, request, name),
            None => None,
        };
        match (known, &self.last) {
            (Some(method), Some((_, name))) => Ok((Some(method), name.clone_ref(py))),
            _ => Ok((None, text::from_literal(py, name)?.unbind())),
        }
    }
}
