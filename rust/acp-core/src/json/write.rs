//! Writing of compact JSON text.
//!
//! Owns escaping and the form of numbers. Text is written as UTF-8 without `\u` escapes, save for control characters
//! and lone surrogates, which have no other form.

use super::string::plain_end;

/// Appends JSON text to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

/// What a byte of a string needs: 0 nothing, `u` a `\u00XX` escape, else the letter of its short escape.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 0x20 {
        table[at] = b'u';
        at += 1;
    }
    table[0x08] = b'b';
    table[0x09] = b't';
    table[0x0A] = b'n';
    table[0x0C] = b'f';
    table[0x0D] = b'r';
    table[0x22] = b'"';
    table[0x5C] = b'\\';
    table
};

const HEX: &[u8; 16] = b"0123456789abcdef";

impl<'a> Writer<'a> {
    /// Appends to `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Number of bytes in the buffer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether the buffer is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Forgets what was written after the buffer had `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.out.truncate(len);
    }

    /// Appends text that is JSON already.
    #[inline]
    pub fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Appends one byte.
    #[inline]
    pub fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    /// Appends a member name that needs no escapes, and the colon.
    #[inline]
    pub fn plain_key(&mut self, name: &str) {
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    /// Appends a string literal.
    #[inline]
    pub fn string(&mut self, text: &str) {
        self.out.reserve(text.len() + 2);
        self.out.push(b'"');
        self.contents(text.as_bytes());
        self.out.push(b'"');
    }

    /// Appends a string literal whose text may hold lone surrogates, as WTF-8.
    pub fn wtf8(&mut self, text: &[u8]) {
        self.out.push(b'"');
        let mut rest = text;
        // In UTF-8 a byte ED is followed by less than A0; in WTF-8 a surrogate is ED, A0 or more, and a third byte.
        while let Some(at) = rest.windows(3).position(|part| part[0] == 0xED && part[1] >= 0xA0) {
            let (plain, surrogate) = rest.split_at(at);
            self.contents(plain);
            let unit =
                0xD000 | (u16::from(surrogate[1] & 0x3F) << 6) | u16::from(surrogate[2] & 0x3F);
            self.raw("\\u");
            for shift in [12, 8, 4, 0] {
                self.byte(HEX[usize::from(unit >> shift & 0xF)]);
            }
            rest = &surrogate[3..];
        }
        self.contents(rest);
        self.out.push(b'"');
    }

    #[inline]
    fn contents(&mut self, bytes: &[u8]) {
        let mut start = 0;
        loop {
            let at = plain_end(bytes, start);
            self.out.extend_from_slice(bytes.get(start..at).unwrap_or_default());
            let Some(byte) = bytes.get(at) else { break };
            let letter = ESCAPES[usize::from(*byte)];
            self.out.extend_from_slice(&[b'\\', letter]);
            if letter == b'u' {
                self.out.extend_from_slice(&[
                    b'0',
                    b'0',
                    HEX[usize::from(byte >> 4)],
                    HEX[usize::from(byte & 0xF)],
                ]);
            }
            start = at + 1;
        }
    }

    /// Appends an integer.
    pub fn int(&mut self, value: i64) {
        if value < 0 {
            self.out.push(b'-');
        }
        self.uint(value.unsigned_abs());
    }

    /// Appends an integer.
    pub fn uint(&mut self, mut value: u64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.out.extend_from_slice(&digits[at..]);
    }

    /// Appends a double in the shortest form that reads back the same, always with a fraction or an exponent. False,
    /// and nothing is written, when it is infinite or not a number.
    pub fn float(&mut self, value: f64) -> bool {
        use std::io::Write;
        // The debug form has the fraction and, for very large and small values, the exponent. Writing to memory cannot fail.
        value.is_finite() && write!(self.out, "{value:?}").is_ok()
    }

    /// Appends `true` or `false`.
    pub fn boolean(&mut self, value: bool) {
        self.raw(if value { "true" } else { "false" });
    }

    /// Appends `null`.
    pub fn null(&mut self) {
        self.raw("null");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Writer<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut Writer::new(&mut out));
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn strings_are_escaped_where_they_have_to_be() {
        assert_eq!(
            written(|w| w.string("a\"\\\n\u{1}é\u{1F600}")),
            "\"a\\\"\\\\\\n\\u0001é\u{1F600}\""
        );
        assert_eq!(
            written(|w| w.wtf8(&[b'a', 0xED, 0xA0, 0x80, b'"', 0xED, 0x9F, 0xBF])),
            "\"a\\ud800\\\"\u{D7FF}\""
        );
    }

    #[test]
    fn numbers_are_written_in_their_shortest_form() {
        assert_eq!(written(|w| w.int(i64::MIN)), "-9223372036854775808");
        assert_eq!(written(|w| w.uint(u64::MAX)), "18446744073709551615");
        for (value, text) in
            [(1.0, "1.0"), (0.1, "0.1"), (-0.0, "-0.0"), (1e300, "1e300"), (5e-324, "5e-324")]
        {
            assert_eq!(written(|w| assert!(w.float(value))), text);
        }
        assert_eq!(written(|w| assert!(!w.float(f64::NAN) && !w.float(f64::INFINITY))), "");
    }
}
