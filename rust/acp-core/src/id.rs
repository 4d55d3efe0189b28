//! Request ids: what they are, how they compare, how they are read and written.
//!
//! Owns exactness. A number and a string are different ids, numbers never pass through a double, and a string keeps
//! every character. Knows nothing of who made an id or what it stands for.

use core::cmp::Ordering;

use crate::json::{Number, Str, Text, Writer};

/// The id of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Id {
    /// `null`
    Null,
    /// An integer.
    Int(i64),
    /// A string.
    Str(Text<'static>),
}

impl Id {
    /// The id that a checked JSON value stands for; None when the value cannot be an id.
    #[must_use]
    pub fn read(value: &str) -> Option<Self> {
        match value.as_bytes() {
            b"null" => Some(Self::Null),
            [b'"', .., b'"'] => {
                let raw = value.get(1..value.len() - 1)?;
                let escaped = memchr::memchr(b'\\', raw.as_bytes()).is_some();
                Some(Self::Str(Str { raw, escaped }.text().into_owned()))
            }
            [b'-' | b'0'..=b'9', ..] => match Number::parse(value) {
                Number::Int(number) => Some(Self::Int(number)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Appends the id as JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        match self {
            Self::Null => writer.null(),
            Self::Int(number) => writer.int(*number),
            Self::Str(Text::Utf8(text)) => writer.string(text),
            Self::Str(Text::Wtf8(bytes)) => writer.wtf8(bytes),
        }
    }
}

impl Ord for Id {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Str(a), Self::Str(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Null, _) | (Self::Int(_), Self::Str(_)) => Ordering::Less,
            (_, Self::Null) | (Self::Str(_), Self::Int(_)) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Names one received request, or one received notification of a batch. Never used twice on a connection, while the
/// peer may use an id as often as it likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(u64);

impl Token {
    /// The token with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number of the token.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_int64_strings_and_null_are_ids() {
        assert_eq!(Id::read("null"), Some(Id::Null));
        assert_eq!(Id::read("-9223372036854775808"), Some(Id::Int(i64::MIN)));
        assert_eq!(Id::read("9223372036854775807"), Some(Id::Int(i64::MAX)));
        for bad in ["9223372036854775808", "1.0", "1e0", "-0", "true", "false", "[1]", "{}"] {
            assert_eq!(Id::read(bad), None, "{bad}");
        }
        assert_ne!(Id::read("1"), Id::read("\"1\""));
        let ids =
            ["null", "-1", "0", "9", "\"\"", "\"0\"", "\"é\""].map(|raw| Id::read(raw).unwrap());
        assert!(ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(Id::read(r#""\u0061""#), Id::read("\"a\""));
    }

    #[test]
    fn ids_are_written_as_they_mean() {
        for raw in ["null", "0", "-5", "\"\"", "\"é\\n\"", "\"\\ud800\"", "\"\u{1F600}\""] {
            let mut out = Vec::new();
            Id::read(raw).unwrap().write(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), raw);
        }
    }
}
