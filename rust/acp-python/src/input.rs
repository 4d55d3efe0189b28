//! Python data as an input of the decoder: what constructors and `model_validate` are given.
//!
//! Owns the reading of Python values. Members go by attribute name or by wire name; objects of the schema stand for
//! themselves.

use std::borrow::Cow;

use acp_core::json::Kind;
use acp_core::schema::input::{Input, Integer};
use acp_core::schema::table::Field;
use acp_core::schema::{digits, whole};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

use crate::build::ToPython;
use crate::classes::{self, Class};
use crate::model::Model;

/// Python values.
pub struct PyInput<'py> {
    py: Python<'py>,
    /// Keeps alive every value that was handed out: making objects can run finalizers, which can change the containers.
    kept: Vec<Bound<'py, PyAny>>,
}

/// A value that the input keeps alive, as its place among those.
#[derive(Clone, Copy)]
pub struct Handle(usize);

/// A walk over a dict.
pub struct Members<'py> {
    dict: Bound<'py, PyDict>,
    place: ffi::Py_ssize_t,
}

/// A walk over a sequence.
pub struct Items<'py> {
    list: Bound<'py, PyList>,
    next: usize,
}

impl<'py> PyInput<'py> {
    /// Reads `root`.
    pub fn new(root: Bound<'py, PyAny>) -> (Self, Handle) {
        let mut input = Self { py: root.py(), kept: Vec::with_capacity(8) };
        let root = input.keep(root);
        (input, root)
    }

    #[inline]
    fn keep(&mut self, value: Bound<'py, PyAny>) -> Handle {
        self.kept.push(value);
        Handle(self.kept.len() - 1)
    }

    #[inline]
    fn get(&self, value: Handle) -> &Bound<'py, PyAny> {
        &self.kept[value.0]
    }

    fn key_text(&self, key: Handle) -> Option<&str> {
        self.get(key).cast::<PyString>().ok()?.to_str().ok()
    }
}

/// Whether an object is one of the collections that read as an array.
fn is_list(value: &Bound<'_, PyAny>) -> bool {
    use pyo3::types::{PyFrozenSet, PyIterator, PySet, PyTuple};
    value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.is_instance_of::<PySet>()
        || value.is_instance_of::<PyFrozenSet>()
        || value.is_instance_of::<PyIterator>()
        || is_deque(value)
}

fn is_deque(value: &Bound<'_, PyAny>) -> bool {
    let ty = value.get_type();
    ty.name().is_ok_and(|name| name == "deque")
        && ty.module().is_ok_and(|module| module == "collections")
}

impl<'py> Input for PyInput<'py> {
    type Value = Handle;
    type Key = Handle;
    type Members = Option<Members<'py>>;
    type Items = Option<Items<'py>>;

    const COLLECT: bool = false;

    fn kind(&self, value: Handle) -> Kind {
        let value = self.get(value);
        if value.is_instance_of::<PyString>() {
            Kind::Str
        } else if value.is_none() {
            Kind::Null
        } else if value.is_instance_of::<PyDict>() {
            Kind::Object
        } else if value.is_instance_of::<PyBool>() {
            Kind::Bool
        } else if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
            Kind::Number
        } else if is_list(value) {
            Kind::List
        } else {
            Kind::Other
        }
    }

    fn seek(&mut self, _value: Handle) {}

    fn pass(&mut self, _value: Handle) {}

    fn members(&mut self, object: Handle) -> Self::Members {
        let dict = self.get(object).cast::<PyDict>().ok()?.clone();
        Some(Members { dict, place: 0 })
    }

    fn next(
        &mut self,
        members: &mut Self::Members,
        expect: &str,
    ) -> Option<(Option<Handle>, Handle)> {
        let members = members.as_mut()?;
        let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: a valid dict; the results are borrowed and get references of their own before anything else runs. When
        // the dict was changed since the last call, members may be missed or repeated, which is what CPython promises.
        let (key, value) = unsafe {
            let dict = members.dict.as_ptr();
            if ffi::PyDict_Next(dict, &raw mut members.place, &raw mut key, &raw mut value) == 0 {
                return None;
            }
            (Bound::from_borrowed_ptr(self.py, key), Bound::from_borrowed_ptr(self.py, value))
        };
        let expected =
            key.cast::<PyString>().is_ok_and(|key| key.to_str().is_ok_and(|key| key == expect));
        let value = self.keep(value);
        let key = (!expected).then(|| self.keep(key));
        Some((key, value))
    }

    fn items(&mut self, list: Handle) -> Self::Items {
        let list = self.get(list);
        let list = match list.cast::<PyList>() {
            Ok(list) => list.clone(),
            // Anything else is walked once, before its items are read. One that fails to be walked has no items.
            Err(_) => self.py.get_type::<PyList>().call1((list,)).ok()?.cast_into().ok()?,
        };
        Some(Items { list, next: 0 })
    }

    fn item(&mut self, items: &mut Self::Items) -> Option<Handle> {
        let items = items.as_mut()?;
        let item = items.list.get_item(items.next).ok()?;
        items.next += 1;
        Some(self.keep(item))
    }

    fn find(&mut self, object: Handle, wire: &str) -> Option<Handle> {
        let dict = self.get(object).cast::<PyDict>().ok()?;
        let found = dict
            .get_item(wire)
            .ok()
            .flatten()
            .or_else(|| dict.get_item(attribute(wire)).ok().flatten())?;
        Some(self.keep(found))
    }

    fn names(&self, key: Handle, field: &Field) -> bool {
        self.key_text(key).is_some_and(|key| {
            key == field.name || key == field.wire || field.alias.is_some_and(|alias| key == alias)
        })
    }

    fn is(&self, key: Handle, wire: &str) -> bool {
        self.key_text(key).is_some_and(|key| key == wire || key == attribute(wire))
    }

    fn text(&mut self, string: Handle) -> Cow<'_, str> {
        self.get(string)
            .cast::<PyString>()
            .map_or(Cow::Borrowed(""), |string| string.to_string_lossy())
    }

    fn boolean(&mut self, value: Handle) -> bool {
        self.get(value).is_truthy().unwrap_or(false)
    }

    fn integer(&mut self, value: Handle, lax: bool) -> Integer {
        let object = self.get(value);
        match self.kind(value) {
            Kind::Number => match object.cast::<PyFloat>() {
                Ok(float) if lax => whole(float.value()),
                Ok(_) => Integer::Not,
                Err(_) => match (object.extract::<i64>(), object.extract::<u64>()) {
                    (Ok(value), _) => Integer::Signed(value),
                    (_, Ok(value)) => Integer::Unsigned(value),
                    _ => Integer::Beyond,
                },
            },
            Kind::Str if lax => digits(&self.text(value)),
            _ => Integer::Not,
        }
    }

    fn float(&mut self, value: Handle) -> Option<f64> {
        self.get(value).extract::<f64>().ok().filter(|value| value.is_finite())
    }
}

/// The attribute name of a discriminator's wire name.
fn attribute(wire: &str) -> &str {
    if wire == "sessionUpdate" { "session_update" } else { wire }
}

impl<'py> ToPython<'py> for PyInput<'py> {
    fn string(&mut self, _py: Python<'py>, value: Handle) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.get(value).clone())
    }

    fn any(&mut self, _py: Python<'py>, value: Handle) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.get(value).clone())
    }

    fn key(&mut self, _py: Python<'py>, key: Handle) -> PyResult<Bound<'py, PyString>> {
        match self.get(key).cast::<PyString>() {
            Ok(key) => Ok(key.clone()),
            Err(_) => self.get(key).str(),
        }
    }

    fn object(
        &mut self,
        _py: Python<'py>,
        value: Handle,
    ) -> Option<(Bound<'py, PyAny>, &'static Class)> {
        let value = self.get(value);
        if !value.is_instance_of::<Model>() {
            return None;
        }
        Some((value.clone(), classes::of(value)?))
    }
}
