//! What the decoder reads from, and what it builds.
//!
//! Owns the two seams of the decoder. The rules of the schema live in [`super::decode`] alone; an input knows how to walk
//! its values, a builder how to make its own.

use std::borrow::Cow;

use super::table::{Field, Record, Union};
pub use crate::json::Kind;

/// A tree of values to decode.
///
/// Contract of the walk: the decoder reads members and items strictly in order and, before it asks for the next, has
/// either taken the value it was given (by a reading method or through a builder) or called [`Input::pass`].
pub trait Input {
    /// A value, as a place in the input.
    type Value: Copy;
    /// The name of a member.
    type Key: Copy;
    /// A walk over the members of an object.
    type Members;
    /// A walk over the items of an array.
    type Items;

    /// Whether members that a known object does not have are collected for relays.
    const COLLECT: bool;

    /// Whether null is a way to say that an optional member is absent, whatever its type.
    const NULL_IS_ABSENT: bool = false;

    /// The kind of a value.
    fn kind(&self, value: Self::Value) -> Kind;
    /// Goes (back) to a value.
    fn seek(&mut self, value: Self::Value);
    /// Goes past a value.
    fn pass(&mut self, value: Self::Value);
    /// Begins to walk an object.
    fn members(&mut self, object: Self::Value) -> Self::Members;
    /// The next member; its key is None when it is exactly `expect`.
    fn next(
        &mut self,
        members: &mut Self::Members,
        expect: &str,
    ) -> Option<(Option<Self::Key>, Self::Value)>;
    /// Begins to walk an array.
    fn items(&mut self, list: Self::Value) -> Self::Items;
    /// The next item.
    fn item(&mut self, items: &mut Self::Items) -> Option<Self::Value>;
    /// The member of a wire name, the last one when there are several.
    fn find(&mut self, object: Self::Value, wire: &str) -> Option<Self::Value>;
    /// For each member of an object, in order, whether it is the last one of its name. Empty when all are.
    fn last_of_names(&mut self, _object: Self::Value) -> Vec<bool> {
        Vec::new()
    }
    /// Whether a member of this name is the field's.
    fn names(&self, key: Self::Key, field: &Field) -> bool;
    /// Whether a member name is `wire`, or its attribute form where the input has those.
    fn is(&self, key: Self::Key, wire: &str) -> bool;
    /// The text of a string; a lone surrogate shows as U+FFFD.
    fn text(&mut self, string: Self::Value) -> Cow<'_, str>;
    /// The value of a boolean.
    fn boolean(&mut self, value: Self::Value) -> bool;
    /// What a value that is no boolean says as one, where the input has looser forms.
    fn loose_boolean(&mut self, _value: Self::Value) -> Option<bool> {
        None
    }
    /// What a value that is no number says as a finite double, where the input has looser forms.
    fn loose_float(&mut self, _value: Self::Value) -> Option<f64> {
        None
    }
    /// The value as an integer.
    fn integer(&mut self, value: Self::Value, lax: bool) -> Integer;
    /// The value as a double; None when it is no number or beyond range.
    fn float(&mut self, value: Self::Value) -> Option<f64>;
}

/// An integer of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integer {
    /// It fits 64 bits with sign.
    Signed(i64),
    /// It is above that and fits 64 bits without.
    Unsigned(u64),
    /// It is beyond both.
    Beyond,
    /// The value is no integer.
    Not,
}

/// Makes values out of what the decoder read.
pub trait Build<I: Input> {
    /// A finished value.
    type Value;
    /// An object of a record, while it is filled.
    type Object;
    /// A list, while it is filled.
    type List;
    /// A map, while it is filled.
    type Map;
    /// What can go wrong in making values, whatever the input.
    type Error;

    /// The value null.
    fn null(&mut self) -> Self::Value;
    /// A boolean.
    fn boolean(&mut self, value: bool) -> Self::Value;
    /// An integer.
    ///
    /// # Errors
    /// When the value cannot be made.
    fn signed(&mut self, value: i64) -> Result<Self::Value, Self::Error>;
    /// An integer.
    ///
    /// # Errors
    /// When the value cannot be made.
    fn unsigned(&mut self, value: u64) -> Result<Self::Value, Self::Error>;
    /// A double.
    ///
    /// # Errors
    /// When the value cannot be made.
    fn float(&mut self, value: f64) -> Result<Self::Value, Self::Error>;
    /// The string at `value`, which is taken.
    ///
    /// # Errors
    /// When the value cannot be made.
    fn string(&mut self, input: &mut I, value: I::Value) -> Result<Self::Value, Self::Error>;
    /// A string of the tables.
    ///
    /// # Errors
    /// When the value cannot be made.
    fn known(&mut self, text: &'static str) -> Result<Self::Value, Self::Error>;
    /// The value at `value` as it is, which is taken.
    ///
    /// # Errors
    /// When the value cannot be made.
    fn any(&mut self, input: &mut I, value: I::Value) -> Result<Self::Value, Self::Error>;
    /// The object at `value` as it is, which is taken; its members may be in a container of its own.
    ///
    /// # Errors
    /// When the value cannot be made.
    fn open(&mut self, input: &mut I, value: I::Value) -> Result<Self::Value, Self::Error> {
        self.any(input, value)
    }
    /// Tells that a value was read in a way that its writer should not rely on.
    ///
    /// # Errors
    /// When whoever is told takes it for an error.
    fn warn(&mut self, _what: &'static str) -> Result<(), Self::Error> {
        Ok(())
    }
    /// Begins a list.
    ///
    /// # Errors
    /// When the value cannot be made.
    fn begin_list(&mut self) -> Result<Self::List, Self::Error>;
    /// Adds an item.
    ///
    /// # Errors
    /// When the value cannot be made.
    fn push(&mut self, list: &mut Self::List, item: Self::Value) -> Result<(), Self::Error>;
    /// Whether a list has no item.
    fn is_empty(&self, list: &Self::List) -> bool;
    /// Ends a list.
    fn end_list(&mut self, list: Self::List) -> Self::Value;
    /// Begins a map.
    ///
    /// # Errors
    /// When the value cannot be made.
    fn begin_map(&mut self) -> Result<Self::Map, Self::Error>;
    /// Adds a value; the last one of a key wins.
    ///
    /// # Errors
    /// When the value cannot be made.
    fn insert(
        &mut self,
        map: &mut Self::Map,
        input: &mut I,
        key: I::Key,
        value: Self::Value,
    ) -> Result<(), Self::Error>;
    /// Ends a map.
    fn end_map(&mut self, map: Self::Map) -> Self::Value;
    /// Begins an object.
    ///
    /// # Errors
    /// When the value cannot be made.
    fn begin(&mut self, record: &'static Record) -> Result<Self::Object, Self::Error>;
    /// Sets a field; a value set before is dropped.
    fn set(&mut self, object: &mut Self::Object, field: usize, value: Self::Value);
    /// Unsets a field.
    fn unset(&mut self, object: &mut Self::Object, field: usize);
    /// Keeps a member that is no field; the last one of a key wins.
    ///
    /// # Errors
    /// When the value cannot be made.
    fn extra(
        &mut self,
        object: &mut Self::Object,
        input: &mut I,
        key: I::Key,
        value: Self::Value,
    ) -> Result<(), Self::Error>;
    /// Ends an object in which the fields of the bits in `set` were set; the others take their defaults.
    ///
    /// # Errors
    /// When the value cannot be made.
    fn end(
        &mut self,
        object: Self::Object,
        record: &'static Record,
        set: u64,
    ) -> Result<Self::Value, Self::Error>;
    /// The value at `value` itself, when it is an object of `record` (or of a record derived from it) already.
    fn instance(
        &mut self,
        _input: &mut I,
        _value: I::Value,
        _record: &'static Record,
    ) -> Option<Self::Value> {
        None
    }
    /// The value at `value` itself, when it is an object of a variant of `union` already.
    fn variant(
        &mut self,
        _input: &mut I,
        _value: I::Value,
        _union: &'static Union,
    ) -> Option<Self::Value> {
        None
    }
}
