//! Objects in programs that use pydantic, which nothing here imports.
//!
//! Owns whether pydantic is in use, the class that objects show to `isinstance` then, and the exception that users of
//! pydantic know. What stands for a class is made in `acp._schema.twins`.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use pyo3::{ffi, intern};

use crate::classes;
use crate::error::ValidationError;

/// The oldest pydantic that twins are made for; beside an older one objects are what they are without.
const OLDEST: (Option<u32>, Option<u32>) = (Some(2), Some(7));

static IN_USE: AtomicBool = AtomicBool::new(false);

/// Whether the program has imported pydantic. Once it has, it stays so.
pub fn in_use(py: Python<'_>) -> bool {
    if IN_USE.load(Ordering::Relaxed) {
        return true;
    }
    let found = imported(py).unwrap_or(false);
    if found {
        IN_USE.store(true, Ordering::Relaxed);
    }
    found
}

fn imported(py: Python<'_>) -> PyResult<bool> {
    // SAFETY: the dict of modules lives as long as the interpreter.
    let modules = unsafe { Bound::from_borrowed_ptr(py, ffi::PyImport_GetModuleDict()) };
    let Some(module) = modules.cast_into::<PyDict>()?.get_item(intern!(py, "pydantic"))? else {
        return Ok(false);
    };
    // While a module is being imported its names are not there yet.
    let Some(spec) = module.getattr_opt(intern!(py, "__spec__"))? else { return Ok(false) };
    let busy = spec.getattr_opt(intern!(py, "_initializing"))?;
    if busy.map_or(Ok(false), |busy| busy.is_truthy())? {
        return Ok(false);
    }
    let version: String = module.getattr(intern!(py, "VERSION"))?.extract()?;
    let mut parts = version.split('.').map_while(|part| part.parse::<u32>().ok());
    Ok((parts.next(), parts.next()) >= OLDEST)
}

fn function<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<&'py Bound<'py, PyAny>> {
    let found = cell.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("acp._schema.twins")?.getattr(name)?.unbind())
    })?;
    Ok(found.bind(py))
}

/// The class that an object shows: its own or, where pydantic is in use, the model that stands for it.
pub fn shown<'py>(object: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    static SHOWN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let (py, ty) = (object.py(), object.get_type());
    if !in_use(py) {
        return ty.into_any();
    }
    let made = classes::of(object).filter(|class| class.is(&ty)).map(|class| &class.twin);
    if let Some(twin) = made.and_then(|twin| twin.get(py)) {
        return twin.bind(py).clone();
    }
    let shown = match function(py, &SHOWN, "shown").and_then(|shown| shown.call1((&ty,))) {
        Ok(shown) => shown,
        Err(error) => {
            // `isinstance` asks for this everywhere, and has to go on.
            error.write_unraisable(py, Some(ty.as_any()));
            ty.clone().into_any()
        }
    };
    if let Some(place) = made
        && !shown.is(&ty)
    {
        // Another thread may have been first, with the same class.
        let _ = place.set(py, shown.clone().unbind());
    }
    shown
}

/// The exception for members that do not fit `ty`: the one of pydantic where it is in use. `error` may be any other
/// exception, which stays as it is.
#[cold]
pub fn refusal(
    ty: &Bound<'_, PyType>,
    given: &Bound<'_, PyAny>,
    json: bool,
    error: PyErr,
) -> PyErr {
    static REFUSAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = ty.py();
    if !error.is_instance_of::<ValidationError>(py) || !in_use(py) {
        return error;
    }
    let made = function(py, &REFUSAL, "refusal")
        .and_then(|refusal| refusal.call1((ty, given, json, error.value(py))));
    // What pydantic cannot even look at stays our own.
    made.map_or(error, PyErr::from_value)
}

/// Whether the program has imported pydantic.
#[pyfunction]
pub fn pydantic_in_use(py: Python<'_>) -> bool {
    in_use(py)
}
