//! Python data as an input of the decoder: what constructors and `model_validate` are given.
//!
//! Owns the reading of Python values. Members go by attribute name or by wire name; objects of the schema stand for
//! themselves; a member that is UNSET is absent. Mappings are objects and other iterables arrays; both are read once.

use std::borrow::Cow;

use acp_core::json::Kind;
use acp_core::schema::input::{Input, Integer};
use acp_core::schema::table::Field;
use acp_core::schema::{digits, whole};
use pyo3::PyTypeCheck;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple,
};

use crate::build::ToPython;
use crate::classes::{self, Class, attribute, is_attribute};
use crate::foreign;
use crate::model::Model;
use crate::text;
use crate::unset::UnsetType;

/// Python values.
pub struct PyInput<'py> {
    py: Python<'py>,
    /// Keeps alive every value that was handed out: making objects can run finalizers, which can change the containers.
    kept: Vec<Bound<'py, PyAny>>,
    /// What a container raised while it was read.
    pub raised: Option<PyErr>,
}

/// A value that the input keeps alive, as its place among those.
#[derive(Clone, Copy)]
pub struct Handle(usize);

/// The name of a member.
#[derive(Clone, Copy)]
pub struct Name {
    key: Handle,
    /// The text of a string that has a UTF-8 form; empty for any other key, which no member is called by.
    text: *const str,
}

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
        let mut input = Self { py: root.py(), kept: Vec::with_capacity(8), raised: None };
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

    fn name_text(&self, name: Name) -> &str {
        debug_assert!(name.key.0 < self.kept.len(), "a name of another input");
        // SAFETY: the string is among those that are kept, and its UTF-8 form belongs to it and never changes.
        unsafe { &*name.text }
    }

    /// A container in the form that it is read in, which from then on stands in its place.
    fn read_once<T: PyTypeCheck>(
        &mut self,
        value: Handle,
        read: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, T>>,
    ) -> Option<Bound<'py, T>> {
        let container = self.get(value);
        if let Ok(container) = container.cast::<T>() {
            return Some(container.clone());
        }
        match read(container) {
            Ok(container) => {
                self.kept[value.0] = container.clone().into_any();
                Some(container)
            }
            Err(error) => {
                self.raised.get_or_insert(error);
                None
            }
        }
    }

    fn dict(&mut self, object: Handle) -> Option<Bound<'py, PyDict>> {
        self.read_once(object, |mapping| {
            let dict = PyDict::new(mapping.py());
            dict.update(mapping.cast::<PyMapping>()?)?;
            Ok(dict)
        })
    }
}

/// The kind of a value that is neither a scalar nor a dict or list.
#[cold]
fn other_kind(value: &Bound<'_, PyAny>) -> Kind {
    if value.is_instance_of::<Model>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyByteArray>()
    {
        return Kind::Other;
    }
    if value.cast::<PyMapping>().is_ok() {
        return Kind::Object;
    }
    if foreign::is_address(value) {
        return Kind::Str;
    }
    // Objects of other libraries are iterable at times; those that can dump themselves are no collections.
    let ty = value.get_type();
    let has = |name: &str| ty.hasattr(name).unwrap_or(false);
    if has("__iter__") && !has("model_dump") { Kind::List } else { Kind::Other }
}

impl<'py> Input for PyInput<'py> {
    type Value = Handle;
    type Key = Name;
    type Members = Option<Members<'py>>;
    type Items = Option<Items<'py>>;

    const COLLECT: bool = false;
    // The attribute of an absent member is None in most cases, and what an object has can be given to make another.
    const NULL_IS_ABSENT: bool = true;

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
        } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            Kind::List
        } else {
            other_kind(value)
        }
    }

    fn seek(&mut self, _value: Handle) {}

    fn pass(&mut self, _value: Handle) {}

    fn members(&mut self, object: Handle) -> Self::Members {
        Some(Members { dict: self.dict(object)?, place: 0 })
    }

    fn next(
        &mut self,
        members: &mut Self::Members,
        expect: &str,
    ) -> Option<(Option<Name>, Handle)> {
        let members = members.as_mut()?;
        let (key, value) = loop {
            let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
            // SAFETY: a valid dict; the results are borrowed and get references of their own before anything else runs.
            // When the dict was changed since the last call, members may be missed or repeated, which is what CPython
            // promises.
            let (key, value) = unsafe {
                let dict = members.dict.as_ptr();
                let place = &raw mut members.place;
                if ffi::PyDict_Next(dict, place, &raw mut key, &raw mut value) == 0 {
                    return None;
                }
                (Bound::from_borrowed_ptr(self.py, key), Bound::from_borrowed_ptr(self.py, value))
            };
            if !value.is_exact_instance_of::<UnsetType>() {
                break (key, value);
            }
        };
        let text =
            key.cast::<PyString>().ok().and_then(|key| key.to_str().ok()).unwrap_or_default();
        let expected = text == expect;
        let text = std::ptr::from_ref(text);
        let value = self.keep(value);
        let name = (!expected).then(|| Name { key: self.keep(key), text });
        Some((name, value))
    }

    fn items(&mut self, list: Handle) -> Self::Items {
        let list = self.read_once(list, |items| {
            Ok(items.py().get_type::<PyList>().call1((items,))?.cast_into()?)
        })?;
        Some(Items { list, next: 0 })
    }

    fn item(&mut self, items: &mut Self::Items) -> Option<Handle> {
        let items = items.as_mut()?;
        // The end is told by the length: an exception for it would have to be made and dropped.
        if items.next >= items.list.len() {
            return None;
        }
        let item = items.list.get_item(items.next).ok()?;
        items.next += 1;
        Some(self.keep(item))
    }

    fn find(&mut self, object: Handle, wire: &str) -> Option<Handle> {
        let dict = self.dict(object)?;
        let get = |name: &str| dict.get_item(name).ok().flatten();
        let found = get(wire).or_else(|| get(&attribute(wire)))?;
        (!found.is_exact_instance_of::<UnsetType>()).then(|| self.keep(found))
    }

    fn names(&self, name: Name, field: &Field) -> bool {
        let name = self.name_text(name);
        name == field.name || name == field.wire || field.alias.is_some_and(|alias| name == alias)
    }

    fn is(&self, name: Name, wire: &str) -> bool {
        let name = self.name_text(name);
        name == wire || is_attribute(name, wire)
    }

    fn text(&mut self, string: Handle) -> Cow<'_, str> {
        let value = self.get(string);
        match value.cast::<PyString>() {
            Ok(string) => string.to_string_lossy(),
            Err(_) => value
                .str()
                .map_or(Cow::Borrowed(""), |text| Cow::Owned(text.to_string_lossy().into_owned())),
        }
    }

    fn boolean(&mut self, value: Handle) -> bool {
        self.get(value).is_truthy().unwrap_or(false)
    }

    fn loose_boolean(&mut self, value: Handle) -> Option<bool> {
        match self.kind(value) {
            Kind::Number => match self.float(value)? {
                0.0 => Some(false),
                1.0 => Some(true),
                _ => None,
            },
            Kind::Str => match &*self.text(value).to_ascii_lowercase() {
                "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
                "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    fn loose_float(&mut self, value: Handle) -> Option<f64> {
        match self.kind(value) {
            Kind::Str => {
                self.text(value).trim().parse().ok().filter(|number: &f64| number.is_finite())
            }
            Kind::Bool => self.float(value),
            _ => None,
        }
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

impl<'py> ToPython<'py> for PyInput<'py> {
    const FRESH: bool = false;

    fn string(&mut self, _py: Python<'py>, value: Handle) -> PyResult<Bound<'py, PyAny>> {
        let value = self.get(value);
        match value.cast::<PyString>() {
            Ok(string) => Ok(text::exact(string)?.into_any()),
            Err(_) => Ok(value.str()?.into_any()),
        }
    }

    fn any(&mut self, _py: Python<'py>, value: Handle) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.get(value).clone())
    }

    fn open(&mut self, py: Python<'py>, value: Handle) -> PyResult<Bound<'py, PyAny>> {
        match self.dict(value) {
            Some(dict) => Ok(dict.copy()?.into_any()),
            None => Ok(py.None().into_bound(py)),
        }
    }

    fn key(&mut self, _py: Python<'py>, name: Name) -> PyResult<Bound<'py, PyString>> {
        match self.get(name.key).cast::<PyString>() {
            Ok(key) => text::exact(key),
            Err(_) => self.get(name.key).str(),
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
