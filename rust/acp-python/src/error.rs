//! Exceptions of the core.

use acp_core::schema::{Fault, FaultKind, Loc};
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

/// A value does not fit its type.
#[pyclass(extends = PyValueError, subclass, frozen, module = "acp._core")]
pub struct ValidationError {
    title: String,
    faults: Vec<Fault>,
}

#[pymethods]
impl ValidationError {
    #[new]
    #[pyo3(signature = (*_args))]
    fn new(_args: &Bound<'_, PyTuple>) -> Self {
        Self { title: String::new(), faults: Vec::new() }
    }

    /// The name of the type that was expected.
    #[getter]
    fn title(&self) -> &str {
        &self.title
    }

    /// One dict per fault: `loc`, `type`, `message`.
    fn errors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for fault in &self.faults {
            let row = PyDict::new(py);
            row.set_item("loc", location(py, fault)?)?;
            row.set_item("type", fault.kind.code())?;
            row.set_item("message", fault.kind.message())?;
            list.append(row)?;
        }
        Ok(list)
    }

    /// The number of faults.
    fn error_count(&self) -> usize {
        self.faults.len()
    }

    fn __str__(&self) -> String {
        let mut text = match self.faults.len() {
            1 => format!("1 fault in {}", self.title),
            count => format!("{count} faults in {}", self.title),
        };
        for fault in &self.faults {
            text.push_str("\n  ");
            for step in fault.path.iter().rev() {
                text.push_str(&step.to_string());
                text.push('.');
            }
            if text.ends_with('.') {
                text.pop();
                text.push_str(": ");
            }
            text.push_str(fault.kind.message());
        }
        text
    }

    fn __repr__(&self) -> String {
        format!("ValidationError({:?})", self.__str__())
    }
}

fn location<'py>(py: Python<'py>, fault: &Fault) -> PyResult<Bound<'py, PyTuple>> {
    let mut steps = Vec::with_capacity(fault.path.len());
    for step in fault.path.iter().rev() {
        steps.push(match step {
            Loc::Member(name) => name.into_pyobject(py)?.into_any(),
            Loc::Index(index) => index.into_pyobject(py)?.into_any(),
            Loc::Key => "*".into_pyobject(py)?.into_any(),
        });
    }
    PyTuple::new(py, steps)
}

/// The exception for faults in a value of the type `title`.
pub fn invalid(py: Python<'_>, title: &str, faults: Vec<Fault>) -> PyErr {
    let error = PyClassInitializer::from(ValidationError { title: title.to_owned(), faults });
    match Bound::new(py, error) {
        Ok(error) => PyErr::from_value(error.into_any()),
        Err(error) => error,
    }
}

/// The exception for one fault at the value itself.
pub fn broken(py: Python<'_>, title: &str, kind: FaultKind) -> PyErr {
    invalid(py, title, vec![Fault { path: Vec::new(), kind }])
}
