//! Checked JSON text as an input.
//!
//! Owns the mapping of the walk onto a [`Cursor`]; knows no rule of the schema.

use std::borrow::Cow;
use std::collections::HashMap;

use super::input::{Input, Integer, Kind};
use super::table::Field;
use crate::json::{Cursor, Number, Str, Text};

/// JSON text that a [`crate::json::Scanner`] has passed.
#[derive(Clone, Copy, Debug)]
pub struct Json<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Json<'a> {
    /// Reads `text`, which has to be checked JSON.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { cursor: Cursor::new(text) }
    }

    /// The place of the whole value.
    #[must_use]
    pub fn root(&self) -> usize {
        self.cursor.offset()
    }

    /// The cursor at a value.
    #[inline]
    pub fn at(&mut self, value: usize) -> &mut Cursor<'a> {
        self.cursor.seek(value);
        &mut self.cursor
    }
}

/// How far a walk over members or items is.
#[derive(Clone, Copy, Debug)]
pub enum Walk {
    /// Before the first.
    First,
    /// After the first.
    Later,
    /// There are no more.
    Done,
}

impl Walk {
    #[inline]
    fn begin(cursor: &mut Cursor<'_>) -> Self {
        if cursor.enter() { Self::First } else { Self::Done }
    }

    #[inline]
    fn advance(&mut self, cursor: &mut Cursor<'_>) -> bool {
        match self {
            Self::First => *self = Self::Later,
            Self::Later => {
                if !cursor.more() {
                    *self = Self::Done;
                }
            }
            Self::Done => {}
        }
        !matches!(self, Self::Done)
    }
}

impl<'a> Input for Json<'a> {
    type Value = usize;
    type Key = Str<'a>;
    type Members = Walk;
    type Items = Walk;

    const COLLECT: bool = true;

    #[inline]
    fn kind(&self, value: usize) -> Kind {
        let mut cursor = self.cursor;
        cursor.seek(value);
        cursor.kind()
    }

    #[inline]
    fn seek(&mut self, value: usize) {
        self.cursor.seek(value);
    }

    fn pass(&mut self, value: usize) {
        self.at(value).skip();
    }

    #[inline]
    fn members(&mut self, object: usize) -> Walk {
        Walk::begin(self.at(object))
    }

    #[inline]
    fn next(&mut self, members: &mut Walk, expect: &str) -> Option<(Option<Str<'a>>, usize)> {
        if !members.advance(&mut self.cursor) {
            return None;
        }
        let key = if self.cursor.key_is(expect) { None } else { Some(self.cursor.key()) };
        Some((key, self.cursor.offset()))
    }

    #[inline]
    fn items(&mut self, list: usize) -> Walk {
        Walk::begin(self.at(list))
    }

    #[inline]
    fn item(&mut self, items: &mut Walk) -> Option<usize> {
        items.advance(&mut self.cursor).then(|| self.cursor.offset())
    }

    fn find(&mut self, object: usize, wire: &str) -> Option<usize> {
        let mut found = None;
        let mut members = self.members(object);
        while let Some((key, value)) = self.next(&mut members, wire) {
            if key.is_none_or(|key| key.is(wire)) {
                found = Some(value);
            }
            self.pass(value);
        }
        found
    }

    fn last_of_names(&mut self, object: usize) -> Vec<bool> {
        let mut places = HashMap::new();
        let mut last = Vec::new();
        let mut members = self.members(object);
        while let Some((key, value)) = self.next(&mut members, "\0") {
            let name = key.map_or_else(Vec::new, |key| key.text().as_bytes().to_vec());
            if let Some(earlier) = places.insert(name, last.len())
                && let Some(earlier) = last.get_mut(earlier)
            {
                *earlier = false;
            }
            last.push(true);
            self.pass(value);
        }
        last
    }

    #[inline]
    fn names(&self, key: Str<'a>, field: &Field) -> bool {
        key.is(field.wire) || field.alias.is_some_and(|alias| key.is(alias))
    }

    #[inline]
    fn is(&self, key: Str<'a>, wire: &str) -> bool {
        key.is(wire)
    }

    fn text(&mut self, string: usize) -> Cow<'_, str> {
        match self.at(string).string().text() {
            Text::Utf8(text) => text,
            Text::Wtf8(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    #[inline]
    fn boolean(&mut self, value: usize) -> bool {
        self.at(value).boolean()
    }

    fn integer(&mut self, value: usize, lax: bool) -> Integer {
        match self.kind(value) {
            Kind::Number => integer(self.at(value).number(), lax),
            Kind::Str if lax => digits(&self.text(value)),
            _ => Integer::Not,
        }
    }

    fn float(&mut self, value: usize) -> Option<f64> {
        let number = self.at(value).number().as_f64();
        number.is_finite().then_some(number)
    }
}

fn integer(number: Number<'_>, lax: bool) -> Integer {
    match number {
        Number::Int(value) => Integer::Signed(value),
        Number::UInt(value) => Integer::Unsigned(value),
        Number::Big(_) => Integer::Beyond,
        Number::Float(value) if lax => whole(value),
        Number::Float(_) => Integer::Not,
    }
}

/// The integer that a double is, for the compatibility profile.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the value is whole and its magnitude was compared before"
)]
pub fn whole(value: f64) -> Integer {
    // Up to 2⁵³ every integer is a double of its own.
    if value.fract() != 0.0 || !value.is_finite() {
        Integer::Not
    } else if value.abs() <= 9_007_199_254_740_992.0 {
        Integer::Signed(value as i64)
    } else {
        Integer::Beyond
    }
}

/// The integer that a string of digits is, for the compatibility profile.
#[must_use]
pub fn digits(text: &str) -> Integer {
    let text = text.trim();
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return Integer::Not;
    }
    match text.parse::<i64>() {
        Ok(value) => Integer::Signed(value),
        Err(_) => text.parse::<u64>().map_or(Integer::Beyond, Integer::Unsigned),
    }
}
