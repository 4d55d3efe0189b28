//! Number literals: their grammar and their values.

use super::scan::SyntaxKind;

/// The most digits that an integer literal may have, as in Python's reader.
pub const MAX_DIGITS: usize = 4300;

/// A number literal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number<'a> {
    /// An integer that fits 64 bits with sign.
    Int(i64),
    /// An integer above that, up to 2⁶⁴ − 1.
    UInt(u64),
    /// An integer beyond both, as written.
    Big(&'a str),
    /// A literal with a fraction or an exponent, or `-0`.
    Float(f64),
}

impl<'a> Number<'a> {
    /// The value of a literal that was checked before.
    #[must_use]
    pub fn parse(raw: &'a str) -> Self {
        if raw.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) || raw == "-0" {
            // The standard library rounds to the nearest double.
            return Self::Float(raw.parse().unwrap_or(f64::NAN));
        }
        match raw.parse::<i64>() {
            Ok(value) => Self::Int(value),
            Err(_) => raw.parse::<u64>().map_or(Self::Big(raw), Self::UInt),
        }
    }

    /// The value as a double; infinite where an integer is beyond its range.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "rounding to the nearest double is what is asked for"
    )]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::UInt(value) => value as f64,
            Self::Big(raw) => raw.parse().unwrap_or(f64::NAN),
            Self::Float(value) => value,
        }
    }
}

/// The end of the number literal at `at`.
pub(super) fn end(bytes: &[u8], start: usize) -> Result<usize, (SyntaxKind, usize)> {
    let digits = |mut at: usize| {
        let first = at;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        (at, at - first)
    };
    let mut at = start + usize::from(bytes.get(start) == Some(&b'-'));
    let leading_zero = bytes.get(at) == Some(&b'0');
    let (whole_end, whole) = digits(at);
    at = whole_end;
    if whole == 0 || (leading_zero && whole > 1) {
        return Err((SyntaxKind::Number, at));
    }
    let mut float = false;
    if bytes.get(at) == Some(&b'.') {
        let (fraction_end, fraction) = digits(at + 1);
        at = fraction_end;
        if fraction == 0 {
            return Err((SyntaxKind::Number, at));
        }
        float = true;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        let (exponent_end, exponent) = digits(at);
        at = exponent_end;
        if exponent == 0 {
            return Err((SyntaxKind::Number, at));
        }
        float = true;
    }
    if float {
        let finite = at - start < 300 && !has_exponent(bytes, start, at);
        if !finite && !parses_finite(bytes, start, at) {
            return Err((SyntaxKind::Number, at));
        }
    } else if whole > MAX_DIGITS {
        return Err((SyntaxKind::Number, at));
    }
    Ok(at)
}

fn has_exponent(bytes: &[u8], start: usize, end: usize) -> bool {
    bytes.get(start..end).unwrap_or_default().iter().any(|byte| matches!(byte, b'e' | b'E'))
}

fn parses_finite(bytes: &[u8], start: usize, end: usize) -> bool {
    let raw = bytes.get(start..end).and_then(|raw| std::str::from_utf8(raw).ok());
    raw.and_then(|raw| raw.parse::<f64>().ok()).is_some_and(f64::is_finite)
}
