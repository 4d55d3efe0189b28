//! `UNSET`: the value of a three-state field that is absent.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

static UNSET: PyOnceLock<Py<UnsetType>> = PyOnceLock::new();

/// Type of `UNSET`.
#[pyclass(frozen, module = "acp._core")]
pub struct UnsetType;

#[pymethods]
#[expect(clippy::unused_self, reason = "the form in which Python calls methods")]
impl UnsetType {
    fn __bool__(&self) -> bool {
        false
    }

    fn __repr__(&self) -> &'static str {
        "UNSET"
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (_memo = None))]
    fn __deepcopy__<'py>(
        slf: Bound<'py, Self>,
        _memo: Option<Bound<'py, PyAny>>,
    ) -> Bound<'py, Self> {
        slf
    }

    fn __reduce__(&self) -> &'static str {
        "UNSET"
    }
}

/// The one instance.
pub fn unset(py: Python<'_>) -> PyResult<&Bound<'_, UnsetType>> {
    UNSET.get_or_try_init(py, || Py::new(py, UnsetType)).map(|unset| unset.bind(py))
}
