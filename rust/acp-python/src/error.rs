//! Exceptions of the core.

use std::borrow::Cow;
use std::fmt;

use acp_core::schema::{Fault, FaultKind, Loc};
use acp_core::version::Refusal;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

create_exception!(
    acp._core,
    LocalProtocolError,
    PyRuntimeError,
    "This side used the connection in a way that the protocol does not allow; nothing was sent."
);

/// What the params of `initialize` have to be, as errors name it.
pub const INITIALIZE_PARAMS: &str = "InitializeRequest";

/// The code that a local error has when nothing else is said.
pub const LOCAL_CODE: i32 = -32600;

create_exception!(
    acp._core,
    InternalError,
    PyRuntimeError,
    "The protocol core failed: a fault of this library. The connection it happened on has to be closed; others go on."
);

/// A value does not fit its type.
#[pyclass(extends = PyValueError, subclass, frozen, module = "acp._core")]
pub struct ValidationError {
    title: String,
    rows: Vec<Row>,
}

/// One fault, in a form that a pickle can give, too.
struct Row {
    /// Outermost step first.
    loc: Vec<Step>,
    code: Cow<'static, str>,
    message: Cow<'static, str>,
}

enum Step {
    Name(Cow<'static, str>),
    Index(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Index(index) => index.fmt(f),
        }
    }
}

impl From<Fault> for Row {
    fn from(fault: Fault) -> Self {
        let step = |step: &Loc| match *step {
            Loc::Member(name) => Step::Name(name.into()),
            Loc::Index(index) => Step::Index(index),
            Loc::Key => Step::Name("*".into()),
        };
        Self {
            loc: fault.path.iter().rev().map(step).collect(),
            code: fault.kind.code().into(),
            message: fault.kind.message().into(),
        }
    }
}

impl Row {
    fn from_python(row: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut loc = Vec::new();
        for step in row.get_item("loc")?.try_iter()? {
            let step = step?;
            loc.push(match step.extract() {
                Ok(index) => Step::Index(index),
                Err(_) => Step::Name(step.extract::<String>()?.into()),
            });
        }
        let text = |name: &str| row.get_item(name)?.extract::<String>();
        Ok(Self { loc, code: text("type")?.into(), message: text("message")?.into() })
    }

    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut steps = Vec::with_capacity(self.loc.len());
        for step in &self.loc {
            steps.push(match step {
                Step::Name(name) => name.into_pyobject(py)?.into_any(),
                Step::Index(index) => index.into_pyobject(py)?.into_any(),
            });
        }
        let row = PyDict::new(py);
        row.set_item("loc", PyTuple::new(py, steps)?)?;
        row.set_item("type", &self.code)?;
        row.set_item("message", &self.message)?;
        Ok(row)
    }
}

#[pymethods]
impl ValidationError {
    #[new]
    #[pyo3(signature = (title = "", errors = None))]
    fn new(title: &str, errors: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let mut rows = Vec::new();
        if let Some(errors) = errors {
            for row in errors.try_iter()? {
                rows.push(Row::from_python(&row?)?);
            }
        }
        Ok(Self { title: title.to_owned(), rows })
    }

    /// The name of the type that was expected.
    #[getter]
    fn title(&self) -> &str {
        &self.title
    }

    /// One dict per fault: `loc`, `type`, `message`.
    fn errors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for row in &self.rows {
            list.append(row.to_python(py)?)?;
        }
        Ok(list)
    }

    /// The number of faults.
    fn error_count(&self) -> usize {
        self.rows.len()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (title, rows) = (slf.get().title(), slf.get().errors(slf.py())?);
        (slf.get_type(), (title, rows)).into_pyobject(slf.py())
    }

    fn __str__(&self) -> String {
        let mut text = match self.rows.len() {
            1 => format!("1 fault in {}", self.title),
            count => format!("{count} faults in {}", self.title),
        };
        for row in &self.rows {
            text.push_str("\n  ");
            let steps: Vec<String> = row.loc.iter().map(ToString::to_string).collect();
            text.push_str(&steps.join("."));
            text.push_str(if steps.is_empty() { "" } else { ": " });
            text.push_str(&row.message);
        }
        text
    }

    fn __repr__(&self) -> String {
        format!("ValidationError({:?})", self.__str__())
    }
}

/// The exception for a message of this side that may not be sent; `code` is that of the same fault on the wire.
pub fn local(py: Python<'_>, code: i32, text: impl Into<String>) -> PyErr {
    let error = LocalProtocolError::new_err(text.into());
    match error.value(py).setattr("code", code) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// The exception for a message of this side that the rules of initialization do not let pass.
pub fn refused(py: Python<'_>, refusal: Refusal) -> PyErr {
    if let Refusal::Unfit(faults) = refusal {
        return invalid(py, INITIALIZE_PARAMS, faults);
    }
    let text = refusal.sentence().unwrap_or_else(|| refusal.message());
    local(py, refusal.code(), text)
}

/// The exception for faults in a value of the type `title`.
pub fn invalid(py: Python<'_>, title: &str, faults: Vec<Fault>) -> PyErr {
    let rows = faults.into_iter().map(Row::from).collect();
    let error = PyClassInitializer::from(ValidationError { title: title.to_owned(), rows });
    match Bound::new(py, error) {
        Ok(error) => PyErr::from_value(error.into_any()),
        Err(error) => error,
    }
}

/// The exception for one fault at the value itself.
pub fn broken(py: Python<'_>, title: &str, kind: FaultKind) -> PyErr {
    invalid(py, title, vec![Fault { path: Vec::new(), kind }])
}
