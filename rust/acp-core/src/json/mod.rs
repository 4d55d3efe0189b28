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

/// Whether two texts are the same. Names are short, and for those this is far cheaper than a call of the general way.
#[inline]
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    let length = a.len();
    if length != b.len() {
        return false;
    }
    // Two blocks that overlap in the middle cover every length up to twice theirs.
    if (8..=16).contains(&length) {
        return a.first_chunk::<8>() == b.first_chunk::<8>()
            && a.last_chunk::<8>() == b.last_chunk::<8>();
    }
    if (4..8).contains(&length) {
        return a.first_chunk::<4>() == b.first_chunk::<4>()
            && a.last_chunk::<4>() == b.last_chunk::<4>();
    }
    a == b
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn texts_are_the_same_when_every_byte_is() {
        let text: Vec<u8> = (0..40).collect();
        for length in 0..text.len() {
            let a = &text[..length];
            assert!(same(a, a));
            assert!(!same(a, &text[..=length]));
            for at in 0..length {
                let mut b = a.to_vec();
                b[at] ^= 1;
                assert!(!same(a, &b), "{length} {at}");
            }
        }
    }
}
