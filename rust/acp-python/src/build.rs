//! Python objects as what the decoder builds.
//!
//! Owns the making of objects; which ones, the decoder says.

use acp_core::schema::input::{Build, Input};
use acp_core::schema::table::{Record, Union};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString};

use crate::cache;
use crate::classes::{self, Class};
use crate::model;

/// An input whose strings and open values can become Python objects.
pub trait ToPython<'py>: Input {
    /// Whether strings and numbers are made here, and so of exactly the types that hold no other object.
    const FRESH: bool;

    /// The string at `value`, which is taken.
    fn string(&mut self, py: Python<'py>, value: Self::Value) -> PyResult<Bound<'py, PyAny>>;
    /// The value at `value` as it is, which is taken.
    fn any(&mut self, py: Python<'py>, value: Self::Value) -> PyResult<Bound<'py, PyAny>>;
    /// The object at `value` as it is, in a dict that nobody else has; it is taken.
    fn open(&mut self, py: Python<'py>, value: Self::Value) -> PyResult<Bound<'py, PyAny>> {
        self.any(py, value)
    }
    /// A member name.
    fn key(&mut self, py: Python<'py>, key: Self::Key) -> PyResult<Bound<'py, PyString>>;
    /// The value itself when it is an object of the schema already, and its class.
    fn object(
        &mut self,
        _py: Python<'py>,
        _value: Self::Value,
    ) -> Option<(Bound<'py, PyAny>, &'static Class)> {
        None
    }
}

/// Builds objects of the classes of one protocol version.
pub struct PyBuild<'py> {
    py: Python<'py>,
    classes: &'static [Class],
    /// The object to fill first, instead of a new one.
    root: Option<Bound<'py, PyAny>>,
}

impl<'py> PyBuild<'py> {
    /// Builds new objects.
    pub fn new(py: Python<'py>, version: u16) -> PyResult<Self> {
        Ok(Self { py, classes: classes::all(version)?, root: None })
    }

    /// Fills `root`, an object of the class that is decoded, and builds the others.
    pub fn into(root: Bound<'py, PyAny>, version: u16) -> PyResult<Self> {
        Ok(Self { py: root.py(), classes: classes::all(version)?, root: Some(root) })
    }

    #[inline]
    fn class(&self, record: &Record) -> PyResult<&'static Class> {
        match self.classes.get(record.index) {
            Some(class) => Ok(class),
            None => classes::former(self.py, record),
        }
    }
}

/// An object while it is filled.
pub struct Filling<'py> {
    object: Bound<'py, PyAny>,
    class: &'static Class,
}

impl<'py, I: ToPython<'py>> Build<I> for PyBuild<'py> {
    type Value = Bound<'py, PyAny>;
    type Object = Filling<'py>;
    type List = Bound<'py, PyList>;
    type Map = Bound<'py, PyDict>;
    type Error = PyErr;

    fn null(&mut self) -> Self::Value {
        self.py.None().into_bound(self.py)
    }

    fn boolean(&mut self, value: bool) -> Self::Value {
        PyBool::new(self.py, value).to_owned().into_any()
    }

    fn signed(&mut self, value: i64) -> PyResult<Self::Value> {
        Ok(value.into_pyobject(self.py)?.into_any())
    }

    fn unsigned(&mut self, value: u64) -> PyResult<Self::Value> {
        Ok(value.into_pyobject(self.py)?.into_any())
    }

    fn float(&mut self, value: f64) -> PyResult<Self::Value> {
        Ok(value.into_pyobject(self.py)?.into_any())
    }

    #[inline]
    fn string(&mut self, input: &mut I, value: I::Value) -> PyResult<Self::Value> {
        input.string(self.py, value)
    }

    #[inline]
    fn known(&mut self, text: &'static str) -> PyResult<Self::Value> {
        Ok(cache::string(self.py, text).into_any())
    }

    fn any(&mut self, input: &mut I, value: I::Value) -> PyResult<Self::Value> {
        input.any(self.py, value)
    }

    fn open(&mut self, input: &mut I, value: I::Value) -> PyResult<Self::Value> {
        input.open(self.py, value)
    }

    #[cold]
    fn warn(&mut self, what: &'static str) -> PyResult<()> {
        let category = self.py.get_type::<pyo3::exceptions::PyUserWarning>();
        PyErr::warn(self.py, &category, &std::ffi::CString::new(what)?, 1)
    }

    fn begin_list(&mut self) -> PyResult<Self::List> {
        Ok(PyList::empty(self.py))
    }

    fn push(&mut self, list: &mut Self::List, item: Self::Value) -> PyResult<()> {
        list.append(item)
    }

    fn is_empty(&self, list: &Self::List) -> bool {
        list.is_empty()
    }

    fn end_list(&mut self, list: Self::List) -> Self::Value {
        list.into_any()
    }

    fn begin_map(&mut self) -> PyResult<Self::Map> {
        Ok(PyDict::new(self.py))
    }

    fn insert(
        &mut self,
        map: &mut Self::Map,
        input: &mut I,
        key: I::Key,
        value: Self::Value,
    ) -> PyResult<()> {
        map.set_item(input.key(self.py, key)?, value)
    }

    fn end_map(&mut self, map: Self::Map) -> Self::Value {
        map.into_any()
    }

    #[inline]
    fn begin(&mut self, record: &'static Record) -> PyResult<Filling<'py>> {
        let class = self.class(record)?;
        let object = match self.root.take() {
            Some(root) => root,
            None => class.allocate(self.py)?,
        };
        Ok(Filling { object, class })
    }

    #[inline]
    fn set(&mut self, object: &mut Filling<'py>, field: usize, value: Self::Value) {
        object.class.put(&object.object, field, value);
    }

    fn unset(&mut self, object: &mut Filling<'py>, field: usize) {
        object.class.clear(&object.object, field);
    }

    fn extra(
        &mut self,
        object: &mut Filling<'py>,
        input: &mut I,
        key: I::Key,
        value: Self::Value,
    ) -> PyResult<()> {
        let key = input.key(self.py, key)?;
        model::state(&object.object).extra_or_new(self.py).set_item(key, value)
    }

    #[inline]
    fn end(
        &mut self,
        object: Filling<'py>,
        _record: &'static Record,
        set: u64,
    ) -> PyResult<Self::Value> {
        object.class.finish(&object.object, set, I::FRESH)?;
        Ok(object.object)
    }

    #[inline]
    fn instance(
        &mut self,
        input: &mut I,
        value: I::Value,
        record: &'static Record,
    ) -> Option<Self::Value> {
        let (object, _) = input.object(self.py, value)?;
        // Where the class was never loaded, nothing is an object of it.
        let class = self.class(record).ok()?;
        object.is_instance(&class.ty(self.py)).unwrap_or(false).then_some(object)
    }

    #[inline]
    fn variant(
        &mut self,
        input: &mut I,
        value: I::Value,
        union: &'static Union,
    ) -> Option<Self::Value> {
        let (object, class) = input.object(self.py, value)?;
        // A class of the other version has a record of the same name at times.
        let own = self.classes.first().is_some_and(|own| own.version() == class.version());
        (own && union.has(class.record)).then_some(object)
    }
}
