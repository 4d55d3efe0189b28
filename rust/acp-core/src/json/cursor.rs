//! Reading of JSON text that was checked before.
//!
//! Owns the walk over members, items and scalars. A [`Cursor`] over text that was not checked returns nonsense, but
//! neither panics nor hangs.

use std::borrow::Cow;

use super::number::Number;
use super::string::{self, Str, Text};
use super::{same, space};

/// What kind of value begins at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number.
    Number,
    /// A string.
    Str,
    /// An array.
    List,
    /// An object.
    Object,
    /// Something that is no JSON; never in text.
    Other,
}

/// A place in a checked text.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the first value of `text`.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text, at: space(text.as_bytes(), 0) }
    }

    /// The place as a number, for [`Cursor::seek`].
    #[inline]
    #[must_use]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Goes to a place that [`Cursor::offset`] returned.
    #[inline]
    pub fn seek(&mut self, offset: usize) {
        self.at = offset;
    }

    #[inline]
    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// The kind of the value that begins here.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.byte() {
            b'"' => Kind::Str,
            b'{' => Kind::Object,
            b'[' => Kind::List,
            b't' | b'f' => Kind::Bool,
            b'n' => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Takes `null`.
    #[inline]
    pub fn null(&mut self) {
        self.at += 4;
    }

    /// Takes `true` or `false`.
    #[inline]
    pub fn boolean(&mut self) -> bool {
        let value = self.byte() == b't';
        self.at += if value { 4 } else { 5 };
        value
    }

    /// Takes a string.
    #[inline]
    pub fn string(&mut self) -> Str<'a> {
        let start = self.at + 1;
        let escaped = self.pass_string();
        Str { raw: self.text.get(start..self.at - 1).unwrap_or_default(), escaped }
    }

    /// Takes a string and reads its escapes.
    #[inline]
    pub fn text(&mut self) -> Text<'a> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let plain = string::literal_end(bytes, start);
        if bytes.get(plain) == Some(&b'"') {
            self.at = plain + 1;
            return Text::Utf8(Cow::Borrowed(self.text.get(start..plain).unwrap_or_default()));
        }
        let mut out = Vec::with_capacity((bytes.len() - start).min(2 * (plain - start) + 1024));
        out.extend_from_slice(bytes.get(start..plain).unwrap_or_default());
        let (end, lone) = string::unescape_into(&mut out, bytes, plain);
        self.at = (end + 1).min(bytes.len());
        string::text_of(out, lone)
    }

    /// Takes a number and returns it as written.
    #[inline]
    pub fn digits(&mut self) -> &'a str {
        let bytes = self.text.as_bytes();
        let start = self.at;
        while let Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') = bytes.get(self.at) {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Takes a number.
    #[inline]
    pub fn number(&mut self) -> Number<'a> {
        Number::parse(self.digits())
    }

    /// Goes into the array or object that begins here; false when it is empty, and then it is taken whole.
    #[inline]
    pub fn enter(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        self.at = space(bytes, self.at + 1);
        let empty = matches!(bytes.get(self.at), Some(b'}' | b']') | None);
        self.at += usize::from(empty);
        !empty
    }

    /// After a value in a container: true when another follows, which then begins here; else the container is taken.
    #[inline]
    pub fn more(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        self.at = space(bytes, self.at);
        let more = self.byte() == b',';
        self.at += 1;
        if more {
            self.at = space(bytes, self.at);
        }
        more
    }

    /// Takes a member name and goes to its value.
    #[inline]
    pub fn key(&mut self) -> Str<'a> {
        let key = self.string();
        self.colon();
        key
    }

    /// Takes the member name when it is exactly `name`, and goes to its value.
    #[inline]
    pub fn key_is(&mut self, name: &str) -> bool {
        let bytes = self.text.as_bytes();
        let end = self.at + 1 + name.len();
        let found = bytes.get(self.at + 1..end).is_some_and(|key| same(key, name.as_bytes()))
            && bytes.get(end) == Some(&b'"');
        if found {
            self.at = end + 1;
            self.colon();
        }
        found
    }

    #[inline]
    fn colon(&mut self) {
        let bytes = self.text.as_bytes();
        self.at = space(bytes, self.at);
        self.at = space(bytes, self.at + 1);
    }

    /// Takes the value that begins here and returns its text.
    pub fn skip(&mut self) -> &'a str {
        let bytes = self.text.as_bytes();
        let start = self.at;
        match self.byte() {
            b'"' => {
                self.pass_string();
            }
            b'{' | b'[' => {
                let mut depth = 0usize;
                loop {
                    match bytes.get(self.at) {
                        Some(b'"') => {
                            self.pass_string();
                            continue;
                        }
                        Some(b'{' | b'[') => depth += 1,
                        Some(b'}' | b']') => depth = depth.saturating_sub(1),
                        Some(_) => {}
                        None => break,
                    }
                    self.at += 1;
                    if depth == 0 {
                        break;
                    }
                }
            }
            b't' | b'n' => self.at += 4,
            b'f' => self.at += 5,
            _ => {
                self.digits();
            }
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Passes the string literal that begins here; true when it holds escapes.
    #[inline]
    fn pass_string(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let mut escaped = false;
        let mut at = string::literal_end(bytes, self.at + 1);
        while let Some(byte) = bytes.get(at) {
            if *byte == b'"' {
                break;
            }
            // A backslash takes the next byte with it; a control character cannot be here, and is passed.
            let step = if *byte == b'\\' { 2 } else { 1 };
            escaped |= *byte == b'\\';
            at = string::literal_end(bytes, at + step);
        }
        self.at = (at + 1).min(bytes.len());
        escaped
    }
}
