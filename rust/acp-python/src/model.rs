//! `Model`: the base of every schema object.
//!
//! Owns what all objects do: construction, comparison, iteration, copying. The members are slots of the classes, found
//! through [`crate::classes`]; here are only the mark of the fields that were set and the members that no field has.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};

use acp_core::schema::FaultKind;
use acp_core::schema::table::Extra;
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyMapping, PySet, PyString, PyTuple, PyType};
use pyo3::{PyTraverseError, PyVisit};

use crate::classes::{self, Class, Tag, is_attribute};
use crate::copies;
use crate::dump::{self, Dump};
use crate::error;
use crate::filling;
use crate::functions;
use crate::lifecycle;
use crate::twins;

/// Base of every schema object.
// All-zero memory is a valid value: `Class::allocate` relies on it.
#[pyclass(subclass, weakref, frozen, module = "acp._core")]
pub struct Model {
    set: AtomicU64,
    extra: ExtraSlot,
}

struct ExtraSlot(UnsafeCell<Option<Py<PyDict>>>);

// SAFETY: read and written under the interpreter lock only, and no reference into it is held while other code runs.
unsafe impl Sync for ExtraSlot {}

impl Model {
    /// The fields that were set, one bit each.
    #[inline]
    pub fn set(&self) -> u64 {
        self.set.load(Ordering::Relaxed)
    }

    /// Says which fields were set.
    #[inline]
    pub fn mark(&self, set: u64) {
        self.set.store(set, Ordering::Relaxed);
    }

    /// The members that no field has.
    pub fn extra<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyDict>> {
        // SAFETY: see `ExtraSlot`; the reference ends with the clone.
        unsafe { (*self.extra.0.get()).as_ref() }.map(|extra| extra.bind(py).clone())
    }

    /// The members that no field has; a new dict when there were none.
    pub fn extra_or_new<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        self.extra(py).unwrap_or_else(|| {
            let extra = PyDict::new(py);
            self.put_extra(Some(extra.clone().unbind()));
            extra
        })
    }

    /// Replaces the members that no field has.
    pub fn put_extra(&self, extra: Option<Py<PyDict>>) {
        // SAFETY: see `ExtraSlot`; the old dict is let go of after the exchange. Not by a drop, which the binding would put
        // off: objects end where it does not know that the lock is held.
        unsafe {
            let old = std::mem::replace(&mut *self.extra.0.get(), extra);
            ffi::Py_XDECREF(old.map_or(std::ptr::null_mut(), Py::into_ptr));
        }
    }
}

/// Lets go of what the native part of an object holds.
///
/// # Safety
/// `object` is an instance of `Model` that ends.
pub unsafe fn end(object: *mut ffi::PyObject) {
    // SAFETY: the caller's promise; the object is still whole.
    unsafe { Borrowed::from_ptr(Python::assume_attached(), object).cast_unchecked::<Model>() }
        .get()
        .put_extra(None);
}

/// The native part of an object.
#[inline]
pub fn state<'a>(object: &'a Bound<'_, PyAny>) -> &'a Model {
    // SAFETY: called for objects of registered classes only, all of which derive from `Model`.
    unsafe { object.cast_unchecked::<Model>() }.get()
}

pub fn class_of(object: &Bound<'_, PyAny>) -> PyResult<&'static Class> {
    classes::of(object).ok_or_else(no_class)
}

/// The exception for what is no class, or no object of a class, of the schema.
pub fn no_class() -> PyErr {
    PyTypeError::new_err(
        "not a class of the schema; use the classes of acp.schema, acp.v1.schema or acp.v2.schema",
    )
}

impl Class {
    /// Whether members that no field has are part of what `object` means.
    pub fn keeps_extra(&self, object: &Bound<'_, PyAny>) -> bool {
        match self.record.extra {
            Extra::Drop => false,
            Extra::Keep => true,
            Extra::KeepUnless { field, known } => self.get(object, field).is_some_and(|value| {
                value
                    .cast::<PyString>()
                    .is_ok_and(|text| text.to_str().is_ok_and(|text| !known.contains(&text)))
            }),
        }
    }

    /// Whether `name` is that of a constant discriminator, which fails unless `value` is its value.
    pub fn agree(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let named = |tag: &&Tag| tag.wire == name || is_attribute(name, tag.wire);
        match self.tags.iter().find(named) {
            None => Ok(false),
            Some(tag) if value.eq(&tag.value)? => Ok(true),
            Some(_) => Err(error::broken(py, self.record.name, FaultKind::UnknownVariant)),
        }
    }

    /// Puts the defaults of all fields but those in `set` into an object, and remembers which were set. With `exact`
    /// strings and numbers are of exactly their types, which hold no other object.
    #[inline]
    pub fn finish(&self, object: &Bound<'_, PyAny>, set: u64, exact: bool) -> PyResult<()> {
        let fields = self.record.fields.len();
        let mut open = if fields == 0 { 0 } else { !set & u64::MAX >> (64 - fields) };
        while open != 0 {
            self.put_default(object, open.trailing_zeros() as usize)?;
            open &= open - 1;
        }
        state(object).mark(set);
        // Defaults that are containers belong to fields that can hold one, and are there when the field is not set.
        if exact && self.containers & (set | self.made) == 0 {
            lifecycle::untrack(object);
        }
        Ok(())
    }

    /// The field of an attribute name or a wire name.
    pub fn field_of(&self, name: &str) -> Option<usize> {
        let fields = self.record.fields;
        fields
            .iter()
            .position(|field| field.name == name || field.wire == name || field.alias == Some(name))
    }
}

/// Attribute names and values in order: fields, then discriminators.
pub fn attributes<'py>(
    object: &Bound<'py, PyAny>,
    class: &'static Class,
) -> impl Iterator<Item = (Bound<'py, PyString>, Bound<'py, PyAny>)> {
    let py = object.py();
    let owner = object.clone();
    let fields = (0..class.record.fields.len())
        .filter_map(move |field| Some((class.name(py, field).clone(), class.get(&owner, field)?)));
    fields.chain(
        class
            .tags
            .iter()
            .map(move |tag| (tag.name.bind(py).clone(), tag.value.bind(py).clone().into_any())),
    )
}

#[pymethods]
impl Model {
    // Instances begin in `crate::lifecycle`; this makes the class one that can be instantiated.
    #[new]
    fn new() -> Self {
        Self { set: AtomicU64::new(0), extra: ExtraSlot(UnsafeCell::new(None)) }
    }

    #[pyo3(signature = (**members))]
    fn __init__(slf: &Bound<'_, Self>, members: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        let none = PyTuple::empty(slf.py());
        filling::construct(slf.as_any(), none.as_any(), members.map(Bound::into_any))
    }

    fn __setattr__(
        slf: &Bound<'_, Self>,
        name: &Bound<'_, PyString>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let class = class_of(slf.as_any())?;
        // SAFETY: valid objects; this is what assignment does where a class defines nothing else.
        let status =
            unsafe { ffi::PyObject_GenericSetAttr(slf.as_ptr(), name.as_ptr(), value.as_ptr()) };
        if status == 0 {
            lifecycle::track(slf.as_any());
            if let Some(field) = class.field_of(name.to_str()?) {
                slf.get().mark(slf.get().set() | 1 << field);
            }
            return Ok(());
        }
        let error = PyErr::fetch(slf.py());
        if !error.is_instance_of::<PyAttributeError>(slf.py()) {
            return Err(error);
        }
        if class.agree(slf.py(), name.to_str()?, value)? {
            return Ok(());
        }
        if class.keeps_extra(slf.as_any()) && !name.to_str()?.starts_with('_') {
            return slf.get().extra_or_new(slf.py()).set_item(name, value);
        }
        Err(PyValueError::new_err(format!(
            "\"{}\" object has no field \"{}\"",
            class.record.name,
            name.to_str()?
        )))
    }

    fn __delattr__(slf: &Bound<'_, Self>, name: &Bound<'_, PyString>) -> PyResult<()> {
        let class = class_of(slf.as_any())?;
        // SAFETY: valid objects; a null value deletes, as where a class defines nothing else.
        if unsafe {
            ffi::PyObject_GenericSetAttr(slf.as_ptr(), name.as_ptr(), std::ptr::null_mut())
        } != 0
        {
            return Err(PyErr::fetch(slf.py()));
        }
        if let Some(field) = class.field_of(name.to_str()?) {
            slf.get().mark(slf.get().set() & !(1 << field));
        }
        Ok(())
    }

    fn __eq__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let class = class_of(slf.as_any())?;
        let Some(other_class) = classes::of(other) else { return Ok(py.NotImplemented()) };
        let equal = std::ptr::eq(class, other_class)
            && slf.get_type().is(other.get_type())
            && Self::equals(slf, other, class)?;
        Ok(equal.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    #[classattr]
    fn __hash__() -> Option<Py<PyAny>> {
        None
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let name = slf.get_type().name()?;
        // SAFETY: a valid object; a positive result says that its description is under way already.
        if unsafe { ffi::Py_ReprEnter(slf.as_ptr()) } > 0 {
            return Ok(format!("{name}(...)"));
        }
        let described = Self::described(slf, ", ");
        // SAFETY: ends what was begun above.
        unsafe { ffi::Py_ReprLeave(slf.as_ptr()) };
        Ok(format!("{name}({})", described?))
    }

    fn __str__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Self::described(slf, " ")
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        let class = class_of(slf.as_any())?;
        let pairs = PyList::empty(slf.py());
        for pair in attributes(slf.as_any(), class) {
            pairs.append(pair)?;
        }
        if let Some(extra) = Self::model_extra(slf)? {
            for pair in extra.iter() {
                pairs.append(pair)?;
            }
        }
        pairs.try_iter()
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        copies::copied(slf, class_of(slf.as_any())?, |_| Ok(()), |value| Ok(value.clone()))
    }

    #[pyo3(signature = (memo = None))]
    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        memo: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let deepcopy = py.import("copy")?.getattr("deepcopy")?;
        let memo = memo.unwrap_or_else(|| PyDict::new(py).into_any());
        // An object can hold itself; the copy then holds the copy.
        let remember = |made: &Bound<'py, PyAny>| memo.set_item(slf.as_ptr() as usize, made);
        let class = class_of(slf.as_any())?;
        copies::copied(slf, class, remember, |value| deepcopy.call1((value, &memo)))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        copies::reduced(slf, class_of(slf.as_any())?)
    }

    fn __setstate__(slf: &Bound<'_, Self>, state: copies::State<'_>) -> PyResult<()> {
        copies::restored(slf, class_of(slf.as_any())?, state)
    }

    // What `isinstance` asks besides the type. Programs that use pydantic ask so for its base class.
    #[getter(__class__)]
    fn shown<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyAny> {
        twins::shown(slf.as_any())
    }

    #[setter(__class__)]
    fn change_class(slf: &Bound<'_, Self>, class: &Bound<'_, PyAny>) -> PyResult<()> {
        let of_all = slf.py().get_type::<PyAny>().getattr(intern!(slf.py(), "__dict__"))?;
        of_all.get_item("__class__")?.call_method1("__set__", (slf, class)).map(drop)
    }

    /// Names of the fields that were set, by the constructor, by the peer, or by assignment.
    #[getter]
    fn model_fields_set<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PySet>> {
        let class = class_of(slf.as_any())?;
        let set = slf.get().set();
        let names = PySet::empty(slf.py())?;
        for field in 0..class.record.fields.len() {
            if set >> field & 1 == 1 {
                names.add(class.name(slf.py(), field))?;
            }
        }
        for tag in &class.tags {
            names.add(&tag.name)?;
        }
        if class.keeps_extra(slf.as_any()) {
            for name in slf.get().extra(slf.py()).into_iter().flatten() {
                names.add(name.0)?;
            }
        }
        Ok(names)
    }

    /// Members that a catch-all keeps verbatim; None for every other class.
    #[getter]
    fn model_extra<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let class = class_of(slf.as_any())?;
        Ok(class.keeps_extra(slf.as_any()).then(|| slf.get().extra_or_new(slf.py())))
    }

    /// Validates an object of the class or a dict of its members.
    #[classmethod]
    #[pyo3(signature = (obj, *, from_attributes = None, **options))]
    fn model_validate<'py>(
        cls: &Bound<'py, PyType>,
        obj: &Bound<'py, PyAny>,
        from_attributes: Option<bool>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        filling::known(options, filling::VALIDATE_OPTIONS, "model_validate")?;
        let class = classes::above(cls).ok_or_else(no_class)?;
        let looked_at = from_attributes == Some(true)
            && obj.cast::<PyMapping>().is_err()
            && !obj.is_instance(cls)?;
        let made = if looked_at {
            filling::read(cls, class, filling::attributes_of(obj, class)?.as_any())
        } else {
            filling::read(cls, class, obj)
        };
        made.map_err(|error| twins::refusal(cls, obj, false, error))
    }

    /// Validates JSON text.
    #[classmethod]
    #[pyo3(signature = (json_data, **options))]
    fn model_validate_json<'py>(
        cls: &Bound<'py, PyType>,
        json_data: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        filling::known(options, filling::VALIDATE_OPTIONS, "model_validate_json")?;
        let py = cls.py();
        let class = classes::above(cls).ok_or_else(no_class)?;
        let title = class.record.name;
        let made = functions::with_text(json_data, title, |text| {
            functions::check(py, title, text)?;
            // Not by the decoder: here members go by attribute name, too.
            filling::read(cls, class, &crate::plain::loads(py, text)?)
        });
        made.map_err(|error| twins::refusal(cls, json_data, true, error))
    }

    /// Makes an object without validation.
    #[classmethod]
    #[pyo3(signature = (_fields_set = None, **values))]
    #[expect(clippy::used_underscore_binding, reason = "the name that programs call it by")]
    fn model_construct<'py>(
        cls: &Bound<'py, PyType>,
        _fields_set: Option<&Bound<'py, PySet>>,
        values: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let class = classes::above(cls).ok_or_else(no_class)?;
        let object = cls.call_method1("__new__", (cls,))?;
        let mut set = filling::unchecked(&object, class, values)?;
        if let Some(names) = _fields_set {
            set = 0;
            for name in names.iter() {
                set |= class
                    .field_of(name.cast::<PyString>()?.to_str()?)
                    .map_or(0, |field| 1 << field);
            }
        }
        state(&object).mark(set);
        Ok(object)
    }

    // For users' classes with fields of their own, see `acp._schema.extended`.
    #[pyo3(name = "_fill_unchecked")]
    fn fill_unchecked(slf: &Bound<'_, Self>, values: &Bound<'_, PyDict>) -> PyResult<()> {
        let set = filling::unchecked(slf.as_any(), class_of(slf.as_any())?, Some(values))?;
        slf.get().mark(set);
        Ok(())
    }

    #[getter(_marks)]
    fn marks(&self) -> u64 {
        self.set()
    }

    #[setter(_marks)]
    fn put_marks(&self, marks: u64) {
        self.mark(marks);
    }

    /// A copy, with some members replaced without validation.
    #[pyo3(signature = (*, update = None, deep = false))]
    fn model_copy<'py>(
        slf: &Bound<'py, Self>,
        update: Option<&Bound<'py, PyAny>>,
        deep: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let copy = if deep { Self::__deepcopy__(slf, None)? } else { Self::__copy__(slf)? };
        if let Some(update) = update {
            let class = class_of(&copy)?;
            for pair in update.call_method0("items")?.try_iter()? {
                let (name, value): (Bound<'py, PyString>, Bound<'py, PyAny>) = pair?.extract()?;
                match class.field_of(name.to_str()?) {
                    Some(field) => {
                        class.put(&copy, field, value);
                        state(&copy).mark(state(&copy).set() | 1 << field);
                    }
                    None if class.agree(slf.py(), name.to_str()?, &value)? => {}
                    None if class.keeps_extra(&copy) => {
                        state(&copy).extra_or_new(slf.py()).set_item(name, value)?;
                    }
                    None => {}
                }
            }
        }
        Ok(copy)
    }

    /// The members as a dict.
    #[pyo3(signature = (*, mode = "python", include = None, exclude = None, by_alias = None, exclude_unset = false, exclude_defaults = false, exclude_none = false, **options))]
    #[expect(clippy::too_many_arguments, reason = "the signature that programs call it with")]
    fn model_dump<'py>(
        slf: &Bound<'py, Self>,
        mode: &str,
        include: Option<&Bound<'py, PyAny>>,
        exclude: Option<&Bound<'py, PyAny>>,
        by_alias: Option<bool>,
        exclude_unset: bool,
        exclude_defaults: bool,
        exclude_none: bool,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        filling::known(options, filling::DUMP_OPTIONS, "model_dump")?;
        let dump = Dump {
            json: mode == "json",
            by_alias: by_alias.unwrap_or(false),
            exclude_unset,
            exclude_defaults,
            exclude_none,
            plain: false,
            depth: 0,
        };
        dump.object(slf.as_any(), class_of(slf.as_any())?, include, exclude)
    }

    /// The members as JSON text.
    #[pyo3(signature = (*, indent = None, include = None, exclude = None, by_alias = None, exclude_unset = false, exclude_defaults = false, exclude_none = false, **options))]
    #[expect(clippy::too_many_arguments, reason = "the signature that programs call it with")]
    fn model_dump_json<'py>(
        slf: &Bound<'py, Self>,
        indent: Option<usize>,
        include: Option<&Bound<'py, PyAny>>,
        exclude: Option<&Bound<'py, PyAny>>,
        by_alias: Option<bool>,
        exclude_unset: bool,
        exclude_defaults: bool,
        exclude_none: bool,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<String> {
        filling::known(options, filling::DUMP_OPTIONS, "model_dump_json")?;
        let dumped = Self::model_dump(
            slf,
            "json",
            include,
            exclude,
            by_alias,
            exclude_unset,
            exclude_defaults,
            exclude_none,
            None,
        )?;
        dump::text(dumped.as_any(), indent)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // SAFETY: the collector runs under the interpreter lock, and visiting changes nothing.
        visit.call(unsafe { &*self.extra.0.get() })
    }

    fn __clear__(&self) {
        self.put_extra(None);
    }
}

impl Model {
    /// Whether two objects of one type are equal. Which of their fields were set makes no difference.
    fn equals<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        class: &'static Class,
    ) -> PyResult<bool> {
        // A value is equal to itself, even where it says otherwise, as in the containers of Python.
        let same =
            |a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>| Ok::<_, PyErr>(a.is(b) || a.eq(b)?);
        for field in 0..class.record.fields.len() {
            let equal = match (class.get(slf.as_any(), field), class.get(other, field)) {
                (Some(a), Some(b)) => same(&a, &b)?,
                (one, other) => one.is_none() && other.is_none(),
            };
            if !equal {
                return Ok(false);
            }
        }
        let py = slf.py();
        let mut others = Vec::with_capacity(2);
        if class.keeps_extra(slf.as_any()) {
            let extra = |object: &Self| object.extra(py).map(Bound::into_any);
            others.push((extra(slf.get()), extra(state(other))));
        }
        if !class.is(&slf.get_type()) {
            let own = |object: &Bound<'py, PyAny>| object.getattr_opt("__dict__");
            others.push((own(slf.as_any())?, own(other)?));
        }
        for pair in others {
            let equal = match pair {
                (Some(a), Some(b)) => same(&a, &b)?,
                (one, other) => {
                    one.or(other).is_none_or(|dict| dict.len().is_ok_and(|len| len == 0))
                }
            };
            if !equal {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn described(slf: &Bound<'_, Self>, between: &str) -> PyResult<String> {
        let class = class_of(slf.as_any())?;
        let mut text = String::new();
        for (name, value) in attributes(slf.as_any(), class) {
            if !text.is_empty() {
                text.push_str(between);
            }
            text.push_str(name.to_str()?);
            text.push('=');
            text.push_str(&value.repr()?.to_string_lossy());
        }
        if let Some(extra) = Self::model_extra(slf)? {
            for (name, value) in extra.iter() {
                text.push_str(if text.is_empty() { "" } else { between });
                text.push_str(&name.str()?.to_string_lossy());
                text.push('=');
                text.push_str(&value.repr()?.to_string_lossy());
            }
        }
        Ok(text)
    }
}
