//! Copies of objects, shallow, deep and by pickle.
//!
//! Owns what a copy consists of: the values of the fields, which of them were set, the members that no field has, and
//! what a user's subclass adds. Nothing is validated again.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};

use crate::classes::{self, Class};
use crate::model::{self, Model};

/// What a pickle holds of an object: values by field name, names of the set fields, members that no field has, and what
/// a user's subclass adds. Fields go by name, so that a later schema can read it.
pub type State<'py> =
    (Bound<'py, PyDict>, Vec<String>, Option<Bound<'py, PyDict>>, Option<Bound<'py, PyDict>>);

/// A copy, each value of which is made by `copy`. `remember` gets the copy while it is still empty.
pub fn copied<'py>(
    object: &Bound<'py, Model>,
    class: &'static Class,
    remember: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<()>,
    mut copy: impl FnMut(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let ty = object.get_type();
    let made =
        if class.is(&ty) { class.allocate(py)? } else { ty.call_method1("__new__", (&ty,))? };
    remember(&made)?;
    for field in 0..class.record.fields.len() {
        if let Some(value) = class.get(object.as_any(), field) {
            class.put(&made, field, copy(&value)?);
        }
    }
    model::state(&made).mark(object.get().set());
    if let Some(extra) = object.get().extra(py) {
        let copies = PyDict::new(py);
        for (key, value) in extra.iter() {
            copies.set_item(key, copy(&value)?)?;
        }
        model::state(&made).put_extra(Some(copies.unbind()));
    }
    for (name, value) in own_attributes(object.as_any(), class)?.into_iter().flatten() {
        assign(&made, name.cast()?, &copy(&value)?)?;
    }
    Ok(made)
}

/// What `__reduce__` returns.
pub fn reduced<'py>(
    object: &Bound<'py, Model>,
    class: &'static Class,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = object.py();
    let (values, set) = (PyDict::new(py), PyList::empty(py));
    for field in 0..class.record.fields.len() {
        if let Some(value) = class.get(object.as_any(), field) {
            values.set_item(class.name(py, field), value)?;
        }
        if object.get().set() >> field & 1 == 1 {
            set.append(class.name(py, field))?;
        }
    }
    let own = own_attributes(object.as_any(), class)?;
    let state = (values, set, object.get().extra(py), own);
    let restore = py.import("acp._core")?.getattr("_restore")?;
    (restore, (object.get_type(),), state).into_pyobject(py)
}

/// Takes a state into an object that [`restore`] made.
pub fn restored(
    object: &Bound<'_, Model>,
    class: &'static Class,
    (values, names, extra, own): State<'_>,
) -> PyResult<()> {
    for field in 0..class.record.fields.len() {
        match values.get_item(class.name(object.py(), field))? {
            Some(value) => class.put(object.as_any(), field, value),
            None => class.clear(object.as_any(), field),
        }
    }
    let fields = names.iter().filter_map(|name| class.field_of(name));
    object.get().mark(fields.fold(0, |set, field| set | 1 << field));
    object.get().put_extra(extra.map(Bound::unbind));
    for (name, value) in own.into_iter().flatten() {
        assign(object.as_any(), name.cast()?, &value)?;
    }
    Ok(())
}

/// An empty object, for [`restored`].
#[pyfunction]
#[pyo3(name = "_restore")]
pub fn restore<'py>(ty: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
    classes::above(ty).ok_or_else(model::no_class)?;
    ty.call_method1("__new__", (ty,))
}

/// What an object of a user's subclass has besides the fields; None for an object of exactly `class`.
fn own_attributes<'py>(
    object: &Bound<'py, PyAny>,
    class: &'static Class,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let ty = object.get_type();
    if class.is(&ty) {
        return Ok(None);
    }
    let own = PyDict::new(object.py());
    if let Some(others) = object.getattr_opt("__dict__")? {
        own.update(others.cast()?)?;
    }
    // The slots that the subclass adds. A class keeps no list of them that could be relied on; its descriptors are one.
    for base in ty.mro() {
        let base = base.cast_into::<PyType>()?;
        if class.is(&base) {
            break;
        }
        for pair in base.getattr("__dict__")?.call_method0("items")?.try_iter()? {
            let (name, member): (Bound<'py, PyAny>, Bound<'py, PyAny>) = pair?.extract()?;
            let slot = member.get_type_ptr() == &raw mut ffi::PyMemberDescr_Type;
            if let (true, Ok(name)) = (slot, name.cast_into::<PyString>())
                && let Some(value) = object.getattr_opt(&name)?
            {
                own.set_item(name, value)?;
            }
        }
    }
    Ok(Some(own))
}

/// Assigns past any `__setattr__` of a subclass: a copy is no assignment.
fn assign(
    object: &Bound<'_, PyAny>,
    name: &Bound<'_, PyString>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    // SAFETY: valid objects; this is what assignment does where a class defines nothing else.
    if unsafe { ffi::PyObject_GenericSetAttr(object.as_ptr(), name.as_ptr(), value.as_ptr()) } == 0
    {
        Ok(())
    } else {
        Err(PyErr::fetch(object.py()))
    }
}
