//! String literals: where they end, and what they mean.
//!
//! Owns the search for the end of a literal and the reading of escapes. A string that holds an escaped lone surrogate
//! has no UTF-8 form; it is carried as WTF-8 (each lone surrogate in the three bytes that UTF-8 would use for it).

use std::borrow::Cow;

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
        if self.escaped { self.text().as_str() == Some(other) } else { self.raw == other }
    }

    /// The string with its escapes read.
    #[inline]
    #[must_use]
    pub fn text(&self) -> Text<'a> {
        if self.escaped { unescape(self.raw) } else { Text::Utf8(Cow::Borrowed(self.raw)) }
    }
}

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The first position at or after `at` of a quote, a backslash or a control character; the end when there is none.
#[inline]
pub(super) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    // Whole blocks without any of the three are the common case in long texts, and this form vectorises.
    while let Some(block) = bytes.get(at..at + 32) {
        let stop = block.iter().fold(0, |found, byte| {
            found | u8::from(*byte == b'"') | u8::from(*byte == b'\\') | u8::from(*byte < 0x20)
        });
        if stop != 0 {
            break;
        }
        at += 32;
    }
    while let Some(Ok(block)) = bytes.get(at..at + 8).map(<[u8; 8]>::try_from) {
        let word = u64::from_le_bytes(block);
        let quote = word ^ (LOW_BITS * 0x22);
        let slash = word ^ (LOW_BITS * 0x5C);
        // A byte's high bit is set where the byte is zero (after the xor) or below 0x20. Borrows can only disturb bytes
        // above the first hit, and only the first hit is used.
        let hits = ((quote.wrapping_sub(LOW_BITS) & !quote)
            | (slash.wrapping_sub(LOW_BITS) & !slash)
            | (word.wrapping_sub(LOW_BITS * 0x20) & !word))
            & HIGH_BITS;
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(byte) = bytes.get(at) {
        if matches!(byte, b'"' | b'\\' | 0..=0x1F) {
            return at;
        }
        at += 1;
    }
    at
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
    let bytes = raw.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut lone = false;
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        out.extend_from_slice(rest.get(..plain).unwrap_or_default());
        at += plain;
        let Some(escape) = bytes.get(at + 1) else { break };
        at += 2;
        let simple = match escape {
            b'b' => 0x08,
            b't' => b'\t',
            b'n' => b'\n',
            b'f' => 0x0C,
            b'r' => b'\r',
            b'u' => {
                let unit = bytes.get(at..).and_then(hex4).unwrap_or(0xFFFD);
                at += 4;
                lone |= push_unit(&mut out, unit, bytes, &mut at);
                continue;
            }
            other => *other,
        };
        out.push(simple);
    }
    if lone {
        return Text::Wtf8(out);
    }
    match String::from_utf8(out) {
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
