//! Objects that are written from parts which are JSON already.
//!
//! Owns their text; knows no member but the one that tells a version.

use super::VERSION;
use crate::json::{Cursor, Kind, Str};
use crate::message::for_each_member;

/// The object `text` with its version set, the other members as they are; None when it is no object.
pub(super) fn with_version(version: u16, text: &str) -> Option<String> {
    let mut object = ObjectText::new();
    object.member(VERSION, &version.to_string());
    for_each_member(text, |name, value| {
        if !name.is(VERSION) {
            object.raw_member(name, value);
        }
    })?;
    Some(object.finish())
}

pub(super) fn is_object(text: &str) -> bool {
    Cursor::new(text).kind() == Kind::Object
}

/// The members of an object with these names; all None when it is none.
pub(super) fn members<'a, const N: usize>(text: &'a str, names: [&str; N]) -> [Option<&'a str>; N] {
    let mut found = [None; N];
    for_each_member(text, |name, value| {
        for (place, wanted) in found.iter_mut().zip(names) {
            if name.is(wanted) {
                *place = Some(value);
            }
        }
    });
    found
}

/// An object that is being written.
pub(super) struct ObjectText(String);

impl ObjectText {
    pub(super) fn new() -> Self {
        Self(String::from("{"))
    }

    pub(super) fn member(&mut self, name: &str, value: &str) {
        self.raw_member(Str { raw: name, escaped: false }, value);
    }

    fn raw_member(&mut self, name: Str<'_>, value: &str) {
        let comma = if self.0.len() > 1 { "," } else { "" };
        for part in [comma, "\"", name.raw, "\":", value] {
            self.0.push_str(part);
        }
    }

    /// A member whose value has to be an object, and is left out when it is not.
    pub(super) fn object_member(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value.filter(|value| is_object(value)) {
            self.member(name, value);
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}
