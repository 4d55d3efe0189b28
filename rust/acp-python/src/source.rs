//! Python objects as what the encoder reads.
//!
//! Owns the reading of objects of the schema and of plain data: None, bool, int, float, str, list, tuple, dict.

use acp_core::json::Writer;
use acp_core::schema::encode::{Failure, Node, Source, Stepped, Written};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::classes::Class;
use crate::model;
use crate::unset::UnsetType;
use crate::{classes, foreign, text};

/// Reads Python objects.
pub struct PySource<'py> {
    /// The interpreter.
    pub py: Python<'py>,
    /// The protocol version that is written for; None for each object's own.
    pub version: Option<u16>,
}

type Object<'py> = Bound<'py, PyAny>;

/// The rest of a list, a tuple or a dict.
pub enum Walk<'py> {
    List(Bound<'py, PyList>, usize),
    Tuple(Bound<'py, PyTuple>, usize),
    Dict(Members<'py>),
}

/// The rest of a dict.
pub struct Members<'py> {
    dict: Bound<'py, PyDict>,
    length: usize,
    place: ffi::Py_ssize_t,
}

impl<'py> Members<'py> {
    fn new(dict: Bound<'py, PyDict>) -> Self {
        Self { length: dict.len(), dict, place: 0 }
    }

    /// The next member.
    #[inline]
    fn next(&mut self) -> Result<Option<(Object<'py>, Object<'py>)>, Failure<PyErr>> {
        if self.dict.len() != self.length {
            return Err(failed(pyo3::exceptions::PyRuntimeError::new_err(
                "the dict changed while it was written",
            )));
        }
        let py = self.dict.py();
        let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
        let (dict, place) = (self.dict.as_ptr(), &raw mut self.place);
        // SAFETY: a valid dict; the results are borrowed and get references of their own before anything else runs.
        unsafe {
            if ffi::PyDict_Next(dict, place, &raw mut key, &raw mut value) == 0 {
                return Ok(None);
            }
            Ok(Some((Bound::from_borrowed_ptr(py, key), Bound::from_borrowed_ptr(py, value))))
        }
    }
}

fn failed(error: impl Into<PyErr>) -> Failure<PyErr> {
    Failure::Failed(error.into())
}

/// A string as the encoder takes it; None when only a conversion can give it.
#[inline]
fn string<'n>(value: &'n Bound<'_, PyString>) -> Node<'n> {
    // A string with lone surrogates has no UTF-8 form to borrow; `convert` gives it another.
    value.to_str().map_or(Node::Unwritable, Node::Str)
}

fn integer<'n>(value: &Bound<'_, PyAny>) -> Node<'n> {
    match (value.extract::<i64>(), value.extract::<u64>()) {
        (Ok(value), _) => Node::Signed(value),
        (_, Ok(value)) => Node::Unsigned(value),
        _ => Node::Unwritable,
    }
}

impl<'py> Source for PySource<'py> {
    type Value = Object<'py>;
    type Shape = Option<&'static Class>;
    type Error = PyErr;
    type Walk = Walk<'py>;
    type Key = Object<'py>;

    fn walk(&self, value: &Object<'py>) -> Result<Walk<'py>, Failure<PyErr>> {
        if let Ok(list) = value.cast::<PyList>() {
            return Ok(Walk::List(list.clone(), 0));
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            return Ok(Walk::Dict(Members::new(dict.clone())));
        }
        Ok(Walk::Tuple(value.cast::<PyTuple>().map_err(failed)?.clone(), 0))
    }

    #[inline]
    fn step(&self, walk: &mut Walk<'py>) -> Stepped<Self> {
        let (item, at) = match walk {
            Walk::Dict(members) => {
                return Ok(members.next()?.map(|(key, value)| (Some(key), value)));
            }
            Walk::List(list, at) if *at < list.len() => (list.get_item(*at), at),
            Walk::Tuple(tuple, at) if *at < tuple.len() => (tuple.get_item(*at), at),
            Walk::List(..) | Walk::Tuple(..) => return Ok(None),
        };
        *at += 1;
        Ok(Some((None, item.map_err(failed)?)))
    }

    #[inline]
    fn spelled(
        &self,
        key: &Object<'py>,
        then: impl FnOnce(Node<'_>) -> Written<Self>,
    ) -> Written<Self> {
        spelled(key, then)
    }

    #[inline]
    fn node<'n>(&self, value: &'n Object<'py>) -> Node<'n> {
        if let Ok(value) = value.cast::<PyString>() {
            return string(value);
        }
        if value.is_none() {
            return Node::Null;
        }
        // Objects of the schema are the rest, and what only derives from one of these types.
        if value.is_exact_instance_of::<PyList>() {
            return Node::List;
        }
        if value.is_exact_instance_of::<PyDict>() {
            return Node::Map;
        }
        if value.is_exact_instance_of::<PyInt>() {
            return integer(value);
        }
        if let Ok(value) = value.cast::<PyBool>() {
            return Node::Bool(value.is_true());
        }
        if let Some(class) = classes::of(value) {
            return match self.version {
                Some(version) if version != class.version() => Node::Foreign(class.record),
                _ => Node::Record(class.record),
            };
        }
        if value.is_instance_of::<PyInt>() {
            return integer(value);
        }
        if let Ok(value) = value.cast::<PyFloat>() {
            return Node::Float(value.value());
        }
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            return Node::List;
        }
        if value.is_instance_of::<PyDict>() {
            return Node::Map;
        }
        if value.is_instance_of::<UnsetType>() { Node::Unset } else { Node::Unwritable }
    }

    fn each_item<F>(&self, list: &Object<'py>, mut each: F) -> Written<Self>
    where
        F: FnMut(&Object<'py>) -> Written<Self>,
    {
        if let Ok(list) = list.cast::<PyList>() {
            return list.iter().try_for_each(|item| each(&item));
        }
        let tuple = list.cast::<PyTuple>().map_err(failed)?;
        tuple.iter().try_for_each(|item| each(&item))
    }

    fn each_member<F>(&self, map: &Object<'py>, mut each: F) -> Written<Self>
    where
        F: FnMut(Node<'_>, &Object<'py>) -> Written<Self>,
    {
        let mut members = Members::new(map.cast::<PyDict>().map_err(failed)?.clone());
        while let Some((key, value)) = members.next()? {
            spelled(&key, |node| each(node, &value))?;
        }
        Ok(())
    }

    fn each_extra<F>(&self, object: &Object<'py>, each: F) -> Written<Self>
    where
        F: FnMut(Node<'_>, &Object<'py>) -> Written<Self>,
    {
        match model::state(object).extra(self.py) {
            Some(extra) => self.each_member(extra.as_any(), each),
            None => Ok(()),
        }
    }

    #[inline]
    fn set(&self, object: &Object<'py>) -> u64 {
        model::state(object).set()
    }

    #[inline]
    fn shape(&self, object: &Object<'py>) -> Self::Shape {
        classes::of(object)
    }

    #[inline]
    fn field(&self, shape: Self::Shape, object: &Object<'py>, field: usize) -> Option<Object<'py>> {
        shape?.get(object, field)
    }

    fn write(&self, value: &Object<'py>, writer: &mut Writer<'_>) -> Result<bool, Failure<PyErr>> {
        if let Ok(value) = value.cast::<PyString>() {
            writer.wtf8(&text::bytes(value).map_err(failed)?.0);
            return Ok(true);
        }
        if value.is_instance_of::<PyInt>() {
            // `int.__str__` of a subclass may say anything; the digits come from the number.
            let number = self.py.get_type::<PyInt>().call1((value,)).map_err(failed)?;
            writer.raw(&number.str().map_err(failed)?.to_string());
            return Ok(true);
        }
        Ok(false)
    }

    fn convert(&self, value: &Object<'py>) -> Result<Option<Object<'py>>, Failure<PyErr>> {
        foreign::plain(value, true).map_err(failed)
    }
}

/// Calls `then` with the name of a member. Keys are written as Python's own writer does: numbers, booleans and None, too.
fn spelled<'py>(
    key: &Object<'py>,
    then: impl FnOnce(Node<'_>) -> Written<PySource<'py>>,
) -> Written<PySource<'py>> {
    let spelled;
    let text = key.cast::<PyString>().ok().and_then(|key| key.to_str().ok());
    let node = if let Some(text) = text {
        Node::Str(text)
    } else {
        spelled = spell(key).map_err(failed)?;
        match &spelled {
            None => Node::Unwritable,
            Some(bytes) => std::str::from_utf8(bytes).map_or(Node::Wtf8(bytes), Node::Str),
        }
    };
    // In one place: what is called here nests as deeply as the value does, each time with all of its frame.
    then(node)
}

/// The bytes of a key that is no string of characters; None when JSON has none for it.
#[cold]
#[inline(never)]
fn spell(key: &Object<'_>) -> PyResult<Option<Vec<u8>>> {
    match key.cast::<PyString>() {
        Ok(key) => Ok(Some(text::bytes(key)?.0.into_owned())),
        Err(_) => Ok(key_text(key)?.map(String::into_bytes)),
    }
}

/// The member name for a key that is no string; None when JSON has none for it.
pub fn key_text(key: &Object<'_>) -> PyResult<Option<String>> {
    Ok(Some(if key.is_none() {
        "null".to_owned()
    } else if let Ok(key) = key.cast::<PyBool>() {
        key.is_true().to_string()
    } else if key.is_instance_of::<PyInt>() {
        // `int.__str__` of a subclass may say anything; the digits come from the number.
        key.py().get_type::<PyInt>().call1((key,))?.str()?.to_string()
    } else if key.is_instance_of::<PyFloat>() {
        key.py().get_type::<PyFloat>().call1((key,))?.str()?.to_string()
    } else {
        return Ok(None);
    }))
}
