//! What is known about protocol versions without a connection, for those that choose one.
//!
//! Owns nothing of it: the rules are the core's.

use acp_core::version::{self, Refusal};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::{error, functions, plain};

/// Code, message and data of an error.
pub type Parts<'py> = (i32, String, Bound<'py, PyAny>);

/// An error as its parts; the data is None where there is none.
pub fn parts<'py>(py: Python<'py>, refusal: &Refusal) -> PyResult<Parts<'py>> {
    let data = match refusal.data() {
        Some(data) => plain::loads(py, &data)?,
        None => py.None().into_bound(py),
    };
    Ok((refusal.code(), refusal.message().into_owned(), data))
}

/// The version that params of `initialize` ask for.
#[pyfunction]
pub fn requested_version(params: &Bound<'_, PyAny>) -> PyResult<Option<u16>> {
    functions::with_text(params, error::INITIALIZE_PARAMS, |text| {
        functions::check(params.py(), error::INITIALIZE_PARAMS, text)?;
        Ok(version::requested(text))
    })
}

/// Which of the versions `configured` serves a client that asks for `requested`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "a binding gets lists by value")]
pub fn choose_version(requested: u16, configured: Vec<u16>) -> Option<u16> {
    version::choose(requested, &configured)
}

/// Params of `initialize` in the form of a version, whatever version they ask for.
#[pyfunction]
pub fn initialize_params<'py>(
    version: u16,
    params: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = params.py();
    crate::classes::schema(version)?;
    functions::with_text(params, error::INITIALIZE_PARAMS, |text| {
        functions::check(py, error::INITIALIZE_PARAMS, text)?;
        match version::initialize_params(version, text) {
            Ok(text) => Ok(PyBytes::new(py, text.as_bytes())),
            Err(Refusal::Unfit(faults)) => {
                Err(error::invalid(py, error::INITIALIZE_PARAMS, faults))
            }
            Err(other) => {
                let text = other.sentence().unwrap_or_else(|| other.message());
                Err(PyValueError::new_err(text.into_owned()))
            }
        }
    })
}

/// The error for a client that asks for a version below all that are served.
#[pyfunction]
pub fn unsupported_protocol_version(
    py: Python<'_>,
    requested: u16,
    supported: Vec<u16>,
) -> PyResult<Parts<'_>> {
    parts(py, &Refusal::Unsupported { requested, supported })
}
