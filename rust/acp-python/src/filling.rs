//! How members come into an object: by the constructor, by validation, or as they are.
//!
//! Owns the reading of what programs give, and the options that they may give with it. What the members are is for the
//! decoder.

use acp_core::schema::FaultKind;
use acp_core::schema::decode::{Decoder, Failure, Options};
use acp_core::schema::table::Flags;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString, PyType};

use crate::build::PyBuild;
use crate::classes::{self, Class};
use crate::input::PyInput;
use crate::{error, keywords, model, twins};

/// Constructors read leniently in the ways that programs written for other libraries need.
const CONSTRUCT: Options = Options { lax: true, keep_unknown: false };

#[inline]
fn fill(object: &Bound<'_, PyAny>, class: &Class, members: Bound<'_, PyAny>) -> PyResult<()> {
    let (input, root) = PyInput::new(members);
    let build = PyBuild::into(object.clone(), class.version())?;
    let mut decoder = Decoder::new(input, build, CONSTRUCT);
    let made = decoder.decode_members(class.record, class.place, root);
    if let Some(raised) = decoder.input.raised.take() {
        return Err(raised);
    }
    made.map(drop).map_err(|failure| match failure {
        Failure::Failed(error) => error,
        Failure::Invalid(faults) => error::invalid(object.py(), class.record.name, faults),
    })
}

/// Fills an object with values as they are, and tells which fields have one.
pub fn unchecked(
    object: &Bound<'_, PyAny>,
    class: &'static Class,
    values: Option<&Bound<'_, PyDict>>,
) -> PyResult<u64> {
    let py = object.py();
    let mut set = 0;
    model::state(object).put_extra(None);
    for (index, field) in class.record.fields.iter().enumerate() {
        let given = |name: &str| values.map_or(Ok(None), |values| values.get_item(name));
        match given(field.name)?.map_or_else(|| given(field.wire), |value| Ok(Some(value)))? {
            Some(value) => {
                class.put(object, index, value);
                set |= 1 << index;
            }
            None if field.flags.has(Flags::REQUIRED) => class.clear(object, index),
            None => class.put_default(object, index)?,
        }
    }
    for (key, value) in values.into_iter().flatten() {
        let name = key.cast::<PyString>()?.to_str()?;
        let own = class.field_of(name).is_some() || class.agree(py, name, &value)?;
        if !own && class.keeps_extra(object) {
            model::state(object).extra_or_new(py).set_item(key, value)?;
        }
    }
    Ok(set)
}

/// Fills an object with members given by keyword.
pub fn construct<'py>(
    object: &Bound<'py, PyAny>,
    positional: &Bound<'py, PyAny>,
    members: Option<Bound<'py, PyAny>>,
) -> PyResult<()> {
    let class = model::class_of(object)?;
    if positional.len()? > 0 {
        return by_position(object, class, positional);
    }
    model::state(object).put_extra(None);
    let plain = class.made(object);
    if plain && keywords::fill(object, class, members.as_ref())? {
        return Ok(());
    }
    let members = members.unwrap_or_else(|| PyDict::new(object.py()).into_any());
    if !plain && extended(object, &members)? {
        return Ok(());
    }
    match fill(object, class, members.clone()) {
        Ok(()) => Ok(()),
        Err(error) => otherwise(object, class, &members, error),
    }
}

#[cold]
fn by_position(
    object: &Bound<'_, PyAny>,
    class: &Class,
    positional: &Bound<'_, PyAny>,
) -> PyResult<()> {
    if positional.len()? == 1 && object.hasattr(ROOT)? {
        return put_root(object, class, &positional.get_item(0)?);
    }
    Err(PyTypeError::new_err(format!("{} takes its members by keyword", class.record.name)))
}

/// Fills an object of a user's class that has fields of its own; false for any other.
#[cold]
fn extended(object: &Bound<'_, PyAny>, members: &Bound<'_, PyAny>) -> PyResult<bool> {
    let fill = object.get_type().getattr_opt(intern!(object.py(), "_fill_extended"))?;
    fill.map_or(Ok(false), |fill| fill.call1((object, members)).map(|_| true))
}

/// What remains for members that do not fit: they may be those of a root.
#[cold]
fn otherwise(
    object: &Bound<'_, PyAny>,
    class: &Class,
    members: &Bound<'_, PyAny>,
    error: PyErr,
) -> PyResult<()> {
    if object.hasattr(ROOT)? && members.contains(ROOT)? {
        return put_root(object, class, &members.get_item(ROOT)?);
    }
    Err(twins::refusal(&object.get_type(), members, false, error))
}

/// The attribute of classes that the official SDK has around another class, here one and the same.
const ROOT: &str = "root";

/// Fills an object with the members of another, or of a dict.
fn put_root(object: &Bound<'_, PyAny>, class: &Class, root: &Bound<'_, PyAny>) -> PyResult<()> {
    let ty = object.get_type();
    let members = if classes::of(root).is_some_and(|other| std::ptr::eq(other, class)) {
        object.py().get_type::<PyDict>().call1((root,))?
    } else {
        root.clone()
    };
    fill(object, class, members).map_err(|error| twins::refusal(&ty, root, false, error))
}

/// What programs may ask of a validation, in pydantic's words, without effect here.
pub const VALIDATE_OPTIONS: &[&str] = &["strict", "extra", "context", "by_alias", "by_name"];

/// The same of a dump.
pub const DUMP_OPTIONS: &[&str] = &[
    "context",
    "ensure_ascii",
    "exclude_computed_fields",
    "fallback",
    "round_trip",
    "serialize_as_any",
    "warnings",
];

/// Fails for an option that no version of pydantic has.
pub fn known(options: Option<&Bound<'_, PyDict>>, names: &[&str], function: &str) -> PyResult<()> {
    for (name, _) in options.into_iter().flatten() {
        let name: String = name.extract()?;
        if !names.contains(&name.as_str()) {
            return Err(PyTypeError::new_err(format!(
                "{function}() got an unexpected keyword argument '{name}'"
            )));
        }
    }
    Ok(())
}

/// The members that any object has as attributes.
pub fn attributes_of<'py>(
    object: &Bound<'py, PyAny>,
    class: &'static Class,
) -> PyResult<Bound<'py, PyDict>> {
    let members = PyDict::new(object.py());
    for field in class.record.fields {
        for name in [field.wire, field.name] {
            if let Some(value) = object.getattr_opt(name)? {
                members.set_item(field.wire, value)?;
                break;
            }
        }
    }
    Ok(members)
}

/// An object of the class, made of a dict of its members or the object itself. What does not fit raises the exception of
/// this library, also where programs see another.
#[pyfunction]
pub fn validated<'py>(
    cls: &Bound<'py, PyType>,
    obj: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    read(cls, classes::above(cls).ok_or_else(model::no_class)?, obj)
}

/// The same with the registered class of `cls`.
pub fn read<'py>(
    cls: &Bound<'py, PyType>,
    class: &'static Class,
    obj: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    if obj.is_instance(cls)? {
        return Ok(obj.clone());
    }
    if class.is(cls) {
        let object = class.allocate(cls.py())?;
        fill(&object, class, obj.clone())?;
        return Ok(object);
    }
    // A user's subclass may have a constructor of its own.
    let members = PyDict::new(cls.py());
    match obj.cast::<PyMapping>() {
        Ok(mapping) => members.update(mapping)?,
        Err(_) if obj.is_none() && class.record.null_is_empty => {}
        Err(_) => return Err(error::broken(cls.py(), class.record.name, FaultKind::Object)),
    }
    cls.call((), Some(&members))
}
