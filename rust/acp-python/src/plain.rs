//! Plain Python data of JSON text, and checked JSON text as an input of Python objects.

use acp_core::json::{Cursor, Kind, Number, Str, Text};
use acp_core::schema::Json;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString};

use crate::build::ToPython;
use crate::{cache, text};

impl<'py> ToPython<'py> for Json<'_> {
    const FRESH: bool = true;

    #[inline]
    fn string(&mut self, py: Python<'py>, value: usize) -> PyResult<Bound<'py, PyAny>> {
        string(py, self.at(value))
    }

    fn any(&mut self, py: Python<'py>, value: usize) -> PyResult<Bound<'py, PyAny>> {
        read(py, self.at(value))
    }

    fn key(&mut self, py: Python<'py>, key: Str<'_>) -> PyResult<Bound<'py, PyString>> {
        name(py, key)
    }
}

#[inline]
fn string<'py>(py: Python<'py>, cursor: &mut Cursor<'_>) -> PyResult<Bound<'py, PyAny>> {
    match cursor.text() {
        Text::Utf8(text) => Ok(cache::string(py, &text).into_any()),
        text @ Text::Wtf8(_) => Ok(text::from_text(py, &text)?.into_any()),
    }
}

#[inline]
fn name<'py>(py: Python<'py>, literal: Str<'_>) -> PyResult<Bound<'py, PyString>> {
    if literal.escaped {
        text::from_literal(py, literal)
    } else {
        Ok(cache::string(py, literal.raw))
    }
}

/// The Python data of a whole checked JSON text.
pub fn loads<'py>(py: Python<'py>, checked: &str) -> PyResult<Bound<'py, PyAny>> {
    let input = Json::new(checked);
    let root = input.root();
    let mut cursor = Cursor::new(checked);
    cursor.seek(root);
    read(py, &mut cursor)
}

/// The Python data of the value at a place. The text was checked, so nesting is within the limit.
fn read<'py>(py: Python<'py>, cursor: &mut Cursor<'_>) -> PyResult<Bound<'py, PyAny>> {
    match cursor.kind() {
        Kind::Str => string(py, cursor),
        Kind::Number => number(py, cursor.number()),
        Kind::Bool => Ok(PyBool::new(py, cursor.boolean()).to_owned().into_any()),
        Kind::Null | Kind::Other => {
            cursor.null();
            Ok(py.None().into_bound(py))
        }
        Kind::List => {
            let list = PyList::empty(py);
            if cursor.enter() {
                loop {
                    list.append(read(py, cursor)?)?;
                    if !cursor.more() {
                        break;
                    }
                }
            }
            Ok(list.into_any())
        }
        Kind::Object => {
            let dict = PyDict::new(py);
            if cursor.enter() {
                loop {
                    let key = name(py, cursor.key())?;
                    dict.set_item(key, read(py, cursor)?)?;
                    if !cursor.more() {
                        break;
                    }
                }
            }
            Ok(dict.into_any())
        }
    }
}

fn number<'py>(py: Python<'py>, number: Number<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match number {
        Number::Int(value) => value.into_pyobject(py)?.into_any(),
        Number::UInt(value) => value.into_pyobject(py)?.into_any(),
        Number::Float(value) => value.into_pyobject(py)?.into_any(),
        Number::Big(digits) => return big(py, digits),
    })
}

/// An integer beyond 64 bits. The literal has at most 4,300 digits, which is what Python's own limit allows.
fn big<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    let terminated = std::ffi::CString::new(digits)?;
    // SAFETY: a valid terminated string of decimal digits; the result is a new reference or null with an exception set.
    unsafe {
        Bound::from_owned_ptr_or_err(
            py,
            ffi::PyLong_FromString(terminated.as_ptr(), std::ptr::null_mut(), 10),
        )
    }
}
