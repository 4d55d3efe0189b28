//! String literals: where they end, and what they mean.
//!
//! Owns the search for the end of a literal and the reading of escapes. A string that holds an escaped lone surrogate
//! has no UTF-8 form; it is carried as WTF-8 (each lone surrogate in the three bytes that UTF-8 would use for it).

use std::borrow::Cow;

use wide::u8x16;

/// The contents of a string literal, between the quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Str<'a> {
    /// The text as written.
    pub raw: &'a str,
    /// Whether `raw` holds a backslash.
    pub escaped: bool,
}

/// What a string means.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Text<'a> {
    /// Ordinary text.
    Utf8(Cow<'a, str>),
    /// Text with at least one lone surrogate, as WTF-8.
    Wtf8(Vec<u8>),
}

impl Text<'_> {
    /// The bytes of the text, WTF-8 where UTF-8 does not reach.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Utf8(text) => text.as_bytes(),
            Self::Wtf8(bytes) => bytes,
        }
    }

    /// The text, unless it holds a lone surrogate.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Utf8(text) => Some(text),
            Self::Wtf8(_) => None,
        }
    }

    /// Number of characters, a lone surrogate counting as one.
    #[must_use]
    pub fn chars(&self) -> usize {
        self.as_bytes().iter().filter(|byte| (**byte & 0xC0) != 0x80).count()
    }

    /// The same text without the borrow.
    #[must_use]
    pub fn into_owned(self) -> Text<'static> {
        match self {
            Self::Utf8(text) => Text::Utf8(Cow::Owned(text.into_owned())),
            Self::Wtf8(bytes) => Text::Wtf8(bytes),
        }
    }
}

impl<'a> Str<'a> {
    /// Whether the string means exactly `other`.
    #[inline]
    #[must_use]
    pub fn is(&self, other: &str) -> bool {
        if self.escaped {
            self.text().as_str() == Some(other)
        } else {
            super::same(self.raw.as_bytes(), other.as_bytes())
        }
    }

    /// The string with its escapes read.
    #[inline]
    #[must_use]
    pub fn text(&self) -> Text<'a> {
        if self.escaped { unescape(self.raw) } else { Text::Utf8(Cow::Borrowed(self.raw)) }
    }
}

/// Bytes that are looked at together.
const BLOCK: usize = 16;

/// The first position at or after `at` of a quote, a backslash or a control character; the end when there is none.
#[inline]
pub(super) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        match first_stop(block) {
            BLOCK => at += BLOCK,
            stop => return at + stop,
        }
    }
    while let Some(byte) = bytes.get(at) {
        if is_stop(*byte) {
            return at;
        }
        at += 1;
    }
    at
}

/// The same for readers, which call it from many places: one copy of the code stays in the caches, many do not.
#[inline(never)]
pub(super) fn literal_end(bytes: &[u8], at: usize) -> usize {
    plain_end(bytes, at)
}

#[inline]
fn is_stop(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=0x1F)
}

/// The place of the first stop in a block; its length when there is none.
#[inline]
fn first_stop(block: &[u8; BLOCK]) -> usize {
    let block = u8x16::new(*block);
    let quote = block.simd_eq(u8x16::splat(b'"'));
    let slash = block.simd_eq(u8x16::splat(b'\\'));
    let control = block.min(u8x16::splat(0x1F)).simd_eq(block);
    // The mask has one bit a byte; the bit above them ends the count where there is no stop.
    ((quote | slash | control).to_bitmask() | 1 << BLOCK).trailing_zeros() as usize
}

/// The value of four hexadecimal digits.
pub(super) fn hex4(digits: &[u8]) -> Option<u16> {
    let mut value = 0;
    for digit in digits.get(..4)? {
        value = (value << 4) | u16::try_from(char::from(*digit).to_digit(16)?).ok()?;
    }
    Some(value)
}

/// Reads the escapes of a literal that was checked before; what cannot be an escape is left as it is.
fn unescape(raw: &str) -> Text<'static> {
    let mut out = Vec::with_capacity(raw.len());
    let (_, lone) = unescape_into(&mut out, raw.as_bytes(), 0);
    text_of(out, lone)
}

/// Reads the escapes of a literal from `at` to its closing quote or the end of `bytes`: that place, and whether there
/// was a lone surrogate.
pub(super) fn unescape_into(out: &mut Vec<u8>, bytes: &[u8], mut at: usize) -> (usize, bool) {
    let mut lone = false;
    loop {
        // Whole blocks are copied and then cut: text with many escapes has too few bytes in between for anything else.
        if let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
            out.extend_from_slice(block);
            let stop = first_stop(block);
            at += stop;
            if stop == BLOCK {
                continue;
            }
            out.truncate(out.len() - (BLOCK - stop));
        } else {
            let plain = plain_end(bytes, at);
            out.extend_from_slice(bytes.get(at..plain).unwrap_or_default());
            at = plain;
        }
        match bytes.get(at..).and_then(<[u8]>::first_chunk::<2>) {
            Some([b'\\', b'u']) => {
                let unit = bytes.get(at + 2..).and_then(hex4).unwrap_or(0xFFFD);
                at += 6;
                lone |= push_unit(out, unit, bytes, &mut at);
            }
            Some([b'\\', letter]) => {
                out.push(MEANINGS[usize::from(*letter)]);
                at += 2;
            }
            // A quote, or the end; a control character cannot be here.
            _ => return (at.min(bytes.len()), lone),
        }
    }
}

/// What a letter after a backslash means; each that is no escape, itself.
const MEANINGS: [u8; 256] = {
    let mut table = [0; 256];
    let mut letter: u8 = 0;
    loop {
        table[letter as usize] = letter;
        if letter == u8::MAX {
            break;
        }
        letter += 1;
    }
    table[b'b' as usize] = 0x08;
    table[b't' as usize] = b'\t';
    table[b'n' as usize] = b'\n';
    table[b'f' as usize] = 0x0C;
    table[b'r' as usize] = b'\r';
    table
};

pub(super) fn text_of(bytes: Vec<u8>, lone: bool) -> Text<'static> {
    if lone {
        return Text::Wtf8(bytes);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Text::Utf8(Cow::Owned(text)),
        Err(error) => Text::Wtf8(error.into_bytes()),
    }
}

/// Appends the character of a UTF-16 unit, with its partner when one follows. True when the unit stands alone.
fn push_unit(out: &mut Vec<u8>, unit: u16, bytes: &[u8], at: &mut usize) -> bool {
    let mut buffer = [0; 4];
    if let Some(ch) = char::from_u32(u32::from(unit)) {
        out.extend_from_slice(ch.encode_utf8(&mut buffer).as_bytes());
        return false;
    }
    if unit < 0xDC00 && bytes.get(*at..*at + 2) == Some(b"\\u") {
        let low = bytes.get(*at + 2..).and_then(hex4).unwrap_or(0);
        if let Some(Ok(ch)) = char::decode_utf16([unit, low]).next() {
            *at += 6;
            out.extend_from_slice(ch.encode_utf8(&mut buffer).as_bytes());
            return false;
        }
    }
    let [high, low] = unit.to_be_bytes();
    out.extend_from_slice(&[
        0xE0 | (high >> 4),
        0x80 | ((high & 0x0F) << 2) | (low >> 6),
        0x80 | (low & 0x3F),
    ]);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_plain_text_is_found_at_every_place() {
        for stop in [b'"', b'\\', 0x00, 0x1F] {
            for length in 0..80 {
                let mut bytes = vec![b'a'; length];
                bytes.push(stop);
                bytes.extend_from_slice("äöü€\u{1F600}zzzzzzzz\u{7F}".as_bytes());
                assert_eq!(plain_end(&bytes, 0), length);
            }
        }
        assert_eq!(plain_end("é".repeat(40).as_bytes(), 0), 80);
    }

    #[test]
    fn escapes_are_read() {
        let text = |raw| Str { raw, escaped: true }.text();
        assert_eq!(text(r#"a\n\t\"\\\/\b\f\r"#).as_str(), Some("a\n\t\"\\/\u{8}\u{c}\r"));
        assert_eq!(text(r"\u00e9\ud83d\ude00").as_str(), Some("é\u{1F600}"));
        assert_eq!(text(r"\ud800x"), Text::Wtf8(vec![0xED, 0xA0, 0x80, b'x']));
        assert_eq!(text(r"\udc00\ud800"), Text::Wtf8(vec![0xED, 0xB0, 0x80, 0xED, 0xA0, 0x80]));
        assert_eq!(text(r"\ud800A"), Text::Wtf8(vec![0xED, 0xA0, 0x80, b'A']));
    }
}
