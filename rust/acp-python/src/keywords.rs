//! The way most objects are made: each keyword is the name of a field, and its value just what the field holds.
//!
//! Owns a short cut, not a rule: whatever is not plainly right is left to the decoder, which knows every rule, and with
//! what it leaves alone the result is the decoder's.

use std::ops::RangeInclusive;

use acp_core::schema::Place;
use acp_core::schema::table::{Field, Flags, Record, Type};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString};

use crate::cache;
use crate::classes::{self, Class};
use crate::unset::UnsetType;

/// Numbers that are in the range of any integer.
const EVERY_RANGE: RangeInclusive<u16> = 1..=u16::MAX;

/// What the short cut has to know of a class.
pub struct Plain {
    /// Fields without which an object does not fit, one bit each.
    required: u64,
    /// Fields for which None says that the member is absent.
    absent: u64,
}

impl Plain {
    /// None where members have to be seen together.
    pub fn new(record: &Record, place: &Place) -> Option<Self> {
        if record.scope.is_some() || !record.only.is_empty() || place.catches.is_some() {
            return None;
        }
        let bits = |test: fn(&Field) -> bool| {
            let fields = record.fields.iter().enumerate();
            fields.filter(|(_, field)| test(field)).fold(0, |bits, (at, _)| bits | 1 << at)
        };
        Some(Self {
            required: bits(|field| {
                field.flags.has(Flags::REQUIRED) && !field.flags.has(Flags::TOLERATED)
            }),
            absent: bits(|field| {
                let told = field.flags.has(Flags::REQUIRED.and(Flags::THREE_STATE));
                !told && !matches!(field.ty, Type::Any | Type::Null | Type::Shape(_))
            }),
        })
    }
}

/// Fills an object of exactly `class`; false where that is for the decoder to do, or to refuse.
#[inline]
pub fn fill(
    object: &Bound<'_, PyAny>,
    class: &Class,
    members: Option<&Bound<'_, PyAny>>,
) -> PyResult<bool> {
    let Some(plain) = &class.plain else { return Ok(false) };
    let mut set = 0;
    if let Some(members) = members {
        let Ok(members) = members.cast_exact::<PyDict>() else { return Ok(false) };
        let Some(given) = put_all(object, class, plain, members)? else { return Ok(false) };
        set = given;
    }
    if plain.required & !set != 0 {
        return Ok(false);
    }
    class.finish(object, set, true)?;
    Ok(true)
}

/// Puts the members into their slots and tells which are set; None where one is not plainly right.
fn put_all(
    object: &Bound<'_, PyAny>,
    class: &Class,
    plain: &Plain,
    members: &Bound<'_, PyDict>,
) -> PyResult<Option<u64>> {
    let all = classes::all(class.version())?;
    let py = object.py();
    let mut set = 0;
    let mut likely = 0;
    let mut place = 0;
    loop {
        let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: a valid dict; the value gets a reference of its own before anything else runs, and the key is only
        // compared. When the dict is changed on the way, members may be missed, which is what CPython promises.
        let value = unsafe {
            if ffi::PyDict_Next(members.as_ptr(), &raw mut place, &raw mut key, &raw mut value) == 0
            {
                return Ok(Some(set));
            }
            Bound::from_borrowed_ptr(py, value)
        };
        let Some(index) = class.named(py, key, likely) else {
            if class.is_tag(key, &value) {
                continue;
            }
            return Ok(None);
        };
        likely = index + 1;
        if value.is_none() && plain.absent >> index & 1 == 1 {
            continue;
        }
        match fitting(all, &class.record.fields[index], &value)? {
            Some(made) => class.put(object, index, made),
            None => return Ok(None),
        }
        set |= 1 << index;
    }
}

impl Class {
    /// The field whose name is exactly the object at `key`.
    #[inline]
    fn named(&self, py: Python<'_>, key: *mut ffi::PyObject, likely: usize) -> Option<usize> {
        let fields = self.record.fields.len();
        let is = |index: &usize| self.name(py, *index).as_ptr() == key;
        (likely..fields).chain(0..likely.min(fields)).find(is)
    }

    /// Whether `key` is the name of a discriminator, and `value` its value.
    fn is_tag(&self, key: *mut ffi::PyObject, value: &Bound<'_, PyAny>) -> bool {
        self.tags.iter().any(|tag| tag.name.as_ptr() == key && tag.value.is(value))
    }
}

#[inline]
fn fitting<'py>(
    all: &'static [Class],
    field: &Field,
    value: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let item = match field.ty {
        Type::List(item) => item,
        Type::Object => match value.cast_exact::<PyDict>() {
            Ok(open) => return Ok(Some(open.copy()?.into_any())),
            Err(_) => return Ok(None),
        },
        ref ty => return Ok(one(all, ty, value)),
    };
    let Ok(items) = value.cast_exact::<PyList>() else { return Ok(None) };
    if field.flags.has(Flags::NON_EMPTY) && items.is_empty() {
        return Ok(None);
    }
    let list = PyList::empty(value.py());
    for given in items {
        match one(all, item, &given) {
            Some(made) => list.append(made)?,
            None => return Ok(None),
        }
    }
    Ok(Some(list.into_any()))
}

/// What a field or an item of `ty` holds for `value`; None where that is not plain.
#[inline]
fn one<'py>(
    all: &'static [Class],
    ty: &Type,
    value: &Bound<'py, PyAny>,
) -> Option<Bound<'py, PyAny>> {
    let fits = match ty {
        Type::Str => value.is_exact_instance_of::<PyString>(),
        Type::Int(_) => {
            value.is_exact_instance_of::<PyInt>()
                && value.extract::<u16>().is_ok_and(|number| EVERY_RANGE.contains(&number))
        }
        Type::Bool => value.is_exact_instance_of::<PyBool>(),
        Type::Any => !value.is_none() && !value.is_exact_instance_of::<UnsetType>(),
        Type::Record(record) => all.get(record.index).is_some_and(|class| class.made(value)),
        Type::Union(union) => classes::exactly(value).is_some_and(|class| {
            all.first().is_some_and(|own| own.version() == class.version())
                && union.has(class.record)
        }),
        Type::Enum(known) => {
            let text = value.cast_exact::<PyString>().ok()?.to_str().ok()?;
            let known = known.values.iter().find(|known| **known == text)?;
            return Some(cache::string(value.py(), known).into_any());
        }
        _ => false,
    };
    fits.then(|| value.clone())
}
