//! Short strings that come again and again: session ids, member names, values of enumerations.
//!
//! Owns one direct-mapped table for the process. A new string takes the place of another of the same slot, so what a
//! peer sends can make strings miss the table, and nothing else.

use std::cell::UnsafeCell;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::text;

/// Longest text that is kept, in bytes. Ids are mostly UUIDs, which have 36.
const LONGEST: usize = 40;
const SLOTS: usize = 2048;

struct Cache(UnsafeCell<[*mut ffi::PyObject; SLOTS]>);

// SAFETY: used under the interpreter lock only, which a `Python` token proves at the one place of use.
unsafe impl Sync for Cache {}

static CACHE: Cache = Cache(UnsafeCell::new([std::ptr::null_mut(); SLOTS]));

#[inline]
fn hash(bytes: &[u8]) -> usize {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = bytes.len() as u64;
    let mut blocks = bytes.chunks_exact(8);
    for block in &mut blocks {
        let word = <[u8; 8]>::try_from(block).map_or(0, u64::from_le_bytes);
        state = (state ^ word).wrapping_mul(FACTOR);
        state ^= state >> 32;
    }
    let mut last = [0; 8];
    last[..blocks.remainder().len()].copy_from_slice(blocks.remainder());
    state = (state ^ u64::from_le_bytes(last)).wrapping_mul(FACTOR);
    (state >> 40) as usize & (SLOTS - 1)
}

/// The Python string of a text, the same object as lately where it is short.
#[inline]
pub fn string<'py>(py: Python<'py>, text: &str) -> Bound<'py, PyString> {
    if text.len() > LONGEST || !text.is_ascii() {
        return text::from_str(py, text);
    }
    let at = hash(text.as_bytes());
    // SAFETY: the interpreter lock is held (`py`) and no reference into the table outlives this block: the element is
    // read, and further down replaced, without running other code in between.
    let known = unsafe { (*CACHE.0.get())[at] };
    if !known.is_null() {
        // SAFETY: the table owns a reference to each of its strings, all of which are compact ASCII: the characters are
        // the `length` bytes after the header.
        let same = unsafe {
            let length = ffi::PyUnicode_GET_LENGTH(known).cast_unsigned();
            let data = known.cast::<ffi::PyASCIIObject>().add(1).cast::<u8>();
            std::slice::from_raw_parts(data, length) == text.as_bytes()
        };
        if same {
            // SAFETY: a valid string object.
            return unsafe { Bound::from_borrowed_ptr(py, known).cast_into_unchecked() };
        }
    }
    let string = text::from_str(py, text);
    // SAFETY: as above; dropping the old string runs no other code.
    unsafe {
        (*CACHE.0.get())[at] = string.clone().into_ptr();
        ffi::Py_XDECREF(known);
    }
    string
}
