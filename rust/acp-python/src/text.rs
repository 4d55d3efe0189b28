//! Strings between Python and the core.
//!
//! A Python string with lone surrogates has no UTF-8 form; it crosses as WTF-8.

use std::borrow::Cow;

use acp_core::json::{Str, Text};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// The Python string of a string literal.
#[inline]
pub fn from_literal<'py>(py: Python<'py>, literal: Str<'_>) -> PyResult<Bound<'py, PyString>> {
    if literal.escaped { from_text(py, &literal.text()) } else { Ok(from_str(py, literal.raw)) }
}

/// The Python string of a text.
pub fn from_text<'py>(py: Python<'py>, text: &Text<'_>) -> PyResult<Bound<'py, PyString>> {
    match text {
        Text::Utf8(text) => Ok(from_str(py, text)),
        Text::Wtf8(bytes) => {
            let decoded =
                PyBytes::new(py, bytes).call_method1("decode", ("utf-8", "surrogatepass"))?;
            Ok(decoded.cast_into()?)
        }
    }
}

/// The Python string of a text.
#[inline]
pub fn from_str<'py>(py: Python<'py>, text: &str) -> Bound<'py, PyString> {
    if !text.is_ascii() {
        return PyString::new(py, text);
    }
    // SAFETY: the new string is compact ASCII of exactly this length, so its characters are the bytes after the header,
    // and nobody else has seen it yet. A null result is turned into a panic by `from_owned_ptr`, as in `PyString::new`.
    unsafe {
        let string = ffi::PyUnicode_New(text.len().cast_signed(), 127);
        if !string.is_null() && text.len() > 1 {
            let data = string.cast::<ffi::PyASCIIObject>().add(1).cast::<u8>();
            data.copy_from_nonoverlapping(text.as_ptr(), text.len());
        } else if !string.is_null() {
            ffi::Py_DECREF(string);
            return PyString::new(py, text);
        }
        Bound::from_owned_ptr(py, string).cast_into_unchecked()
    }
}

/// The string itself, or what an object of a class derived from str says: a member of an enumeration, for one.
pub fn exact<'py>(string: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
    if string.is_exact_instance_of::<PyString>() {
        return Ok(string.clone());
    }
    // SAFETY: a valid string object; the result is a new reference to a plain string, or null with an exception set.
    unsafe {
        let exact = ffi::PyUnicode_FromObject(string.as_ptr());
        Ok(Bound::from_owned_ptr_or_err(string.py(), exact)?.cast_into_unchecked())
    }
}

/// The bytes of a Python string, and whether they are UTF-8 (else WTF-8).
pub fn bytes<'s>(string: &'s Bound<'_, PyString>) -> PyResult<(Cow<'s, [u8]>, bool)> {
    if let Ok(text) = string.to_str() {
        return Ok((Cow::Borrowed(text.as_bytes()), true));
    }
    let encoded = string.call_method1("encode", ("utf-8", "surrogatepass"))?;
    let encoded = encoded.cast::<PyBytes>()?;
    Ok((Cow::Owned(encoded.as_bytes().to_vec()), false))
}
