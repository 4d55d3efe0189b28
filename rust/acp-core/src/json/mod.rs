//! JSON text: checking, reading and writing.
//!
//! Owns the lexical layer. [`Scanner`] checks text of unknown quality and finds where values end; [`Cursor`] reads
//! text that was checked before; [`Writer`] makes compact text. None of them knows a member name or a type.
//!
//! The grammar is RFC 8259 with two allowances of Python's reader: `\u` escapes of lone surrogates, and integers of
//! up to [`MAX_DIGITS`] digits. Numbers that overflow a double are refused.

mod cursor;
mod number;
mod scan;
mod string;
mod write;

pub use cursor::{Cursor, Kind};
pub use number::{MAX_DIGITS, Number};
pub use scan::{MAX_DEPTH, Scanner, SyntaxError, SyntaxKind};
pub use string::{Str, Text};
pub use write::Writer;

/// The first position at or after `at` that holds no JSON whitespace.
#[inline]
pub(crate) fn space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}
