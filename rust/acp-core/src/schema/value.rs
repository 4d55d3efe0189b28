//! Decoded values in plain Rust.
//!
//! Owns a tree that the decoder can build and the encoder can read: for the one method that the core reads itself, and
//! for tests, the fuzzer and tools.

use std::collections::HashMap;

use super::decode::{Decoder, Failure, Options};
use super::encode::{Encoder, Node, Position, Source, Stepped, Written};
use super::fault::{Fault, FaultKind};
use super::input::{Build, Input};
use super::json_input::Json;
use super::table::{Record, Type};
use crate::json::{Number, Scanner, Text};

/// A decoded value.
#[derive(Clone, Debug)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer.
    Signed(i64),
    /// An integer beyond [`i64`].
    Unsigned(u64),
    /// An integer beyond 64 bits, as written.
    Digits(Box<str>),
    /// A double.
    Float(f64),
    /// A string.
    Str(Text<'static>),
    /// An array.
    List(Vec<Value>),
    /// An object without a record.
    Map(Vec<(Text<'static>, Value)>),
    /// An object of a record.
    Object(Box<Object>),
}

/// An object of a record.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its record.
    pub record: &'static Record,
    /// Values of the fields that were set.
    pub fields: Vec<Option<Value>>,
    /// Members that are no field.
    pub extra: Vec<(Text<'static>, Value)>,
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Signed(a), Self::Signed(b)) => a == b,
            (Self::Unsigned(a), Self::Unsigned(b)) => a == b,
            (Self::Digits(a), Self::Digits(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => {
                // Members that a known object does not have are no part of its meaning, and are not written.
                a.record.index == b.record.index
                    && a.record.name == b.record.name
                    && a.fields == b.fields
            }
            _ => false,
        }
    }
}

/// Builds [`Value`]s.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tree;

impl Tree {
    /// Any value of checked JSON text.
    #[must_use]
    pub fn read(input: &mut Json<'_>, place: usize) -> Value {
        use super::input::Kind;
        match input.kind(place) {
            Kind::Null | Kind::Other => {
                input.at(place).null();
                Value::Null
            }
            Kind::Bool => Value::Bool(input.at(place).boolean()),
            Kind::Str => Value::Str(input.at(place).string().text().into_owned()),
            Kind::Number => match input.at(place).number() {
                Number::Int(value) => Value::Signed(value),
                Number::UInt(value) => Value::Unsigned(value),
                Number::Big(raw) => Value::Digits(raw.into()),
                Number::Float(value) => Value::Float(value),
            },
            Kind::List => {
                let mut list = Vec::new();
                let mut items = input.items(place);
                while let Some(item) = input.item(&mut items) {
                    list.push(Self::read(input, item));
                }
                Value::List(list)
            }
            Kind::Object => {
                let mut map = Vec::new();
                let mut members = input.members(place);
                while let Some((key, value)) = input.next(&mut members, "\0") {
                    let value = Self::read(input, value);
                    let key = key.map_or(Text::Utf8("\0".into()), |key| key.text().into_owned());
                    map.push((key, value));
                }
                Value::Map(last_of_each(map))
            }
        }
    }
}

/// Of members with one name the value of the last, at the place of the first.
fn last_of_each(members: Vec<(Text<'static>, Value)>) -> Vec<(Text<'static>, Value)> {
    let mut places = HashMap::with_capacity(members.len());
    let mut kept: Vec<(Text<'static>, Value)> = Vec::with_capacity(members.len());
    for (name, value) in members {
        let place = *places.entry(name.clone()).or_insert(kept.len());
        match kept.get_mut(place) {
            Some(member) => member.1 = value,
            None => kept.push((name, value)),
        }
    }
    kept
}

impl<'a> Build<Json<'a>> for Tree {
    type Value = Value;
    type Object = Object;
    type List = Vec<Value>;
    type Map = Vec<(Text<'static>, Value)>;
    type Error = std::convert::Infallible;

    fn null(&mut self) -> Value {
        Value::Null
    }

    fn boolean(&mut self, value: bool) -> Value {
        Value::Bool(value)
    }

    fn signed(&mut self, value: i64) -> Result<Value, Self::Error> {
        Ok(Value::Signed(value))
    }

    fn unsigned(&mut self, value: u64) -> Result<Value, Self::Error> {
        Ok(Value::Unsigned(value))
    }

    fn float(&mut self, value: f64) -> Result<Value, Self::Error> {
        Ok(Value::Float(value))
    }

    fn string(&mut self, input: &mut Json<'a>, value: usize) -> Result<Value, Self::Error> {
        Ok(Value::Str(input.at(value).string().text().into_owned()))
    }

    fn known(&mut self, text: &'static str) -> Result<Value, Self::Error> {
        Ok(Value::Str(Text::Utf8(text.into())))
    }

    fn any(&mut self, input: &mut Json<'a>, value: usize) -> Result<Value, Self::Error> {
        Ok(Self::read(input, value))
    }

    fn begin_list(&mut self) -> Result<Vec<Value>, Self::Error> {
        Ok(Vec::new())
    }

    fn push(&mut self, list: &mut Vec<Value>, item: Value) -> Result<(), Self::Error> {
        list.push(item);
        Ok(())
    }

    fn is_empty(&self, list: &Vec<Value>) -> bool {
        list.is_empty()
    }

    fn end_list(&mut self, list: Vec<Value>) -> Value {
        Value::List(list)
    }

    fn begin_map(&mut self) -> Result<Self::Map, Self::Error> {
        Ok(Vec::new())
    }

    fn insert(
        &mut self,
        map: &mut Self::Map,
        _input: &mut Json<'a>,
        key: <Json<'a> as Input>::Key,
        value: Value,
    ) -> Result<(), Self::Error> {
        map.push((key.text().into_owned(), value));
        Ok(())
    }

    fn end_map(&mut self, map: Self::Map) -> Value {
        Value::Map(last_of_each(map))
    }

    fn begin(&mut self, record: &'static Record) -> Result<Object, Self::Error> {
        Ok(Object {
            record,
            fields: record.fields.iter().map(|_| None).collect(),
            extra: Vec::new(),
        })
    }

    fn set(&mut self, object: &mut Object, field: usize, value: Value) {
        if let Some(slot) = object.fields.get_mut(field) {
            *slot = Some(value);
        }
    }

    fn unset(&mut self, object: &mut Object, field: usize) {
        if let Some(slot) = object.fields.get_mut(field) {
            *slot = None;
        }
    }

    fn extra(
        &mut self,
        object: &mut Object,
        _input: &mut Json<'a>,
        key: <Json<'a> as Input>::Key,
        value: Value,
    ) -> Result<(), Self::Error> {
        object.extra.push((key.text().into_owned(), value));
        Ok(())
    }

    fn end(
        &mut self,
        mut object: Object,
        _record: &'static Record,
        _set: u64,
    ) -> Result<Value, Self::Error> {
        object.extra = last_of_each(object.extra);
        Ok(Value::Object(Box::new(object)))
    }
}

/// Decodes JSON text as a `ty`.
///
/// # Errors
/// The faults of the text.
pub fn decode(ty: &Type, text: &str, options: Options) -> Result<Value, Vec<Fault>> {
    if Scanner::check(text).is_err() {
        return Err(vec![Fault { path: Vec::new(), kind: FaultKind::Syntax }]);
    }
    let input = Json::new(text);
    let root = input.root();
    match Decoder::new(input, Tree, options).decode(ty, root) {
        Ok(value) => Ok(value),
        Err(Failure::Invalid(faults)) => Err(faults),
        Err(Failure::Failed(never)) => match never {},
    }
}

/// Writes a value as a `ty`.
///
/// # Errors
/// The fault of a value that cannot be written.
pub fn encode(ty: &Type, value: &Value, keep_defaults: bool) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    let position = match ty {
        Type::Union(union) => Position::In(union),
        _ => Position::Bare,
    };
    match Encoder::new(&Reader(std::marker::PhantomData), &mut out, keep_defaults)
        .value(ty, &value, position)
    {
        Ok(()) => Ok(out),
        Err(super::encode::Failure::Invalid(fault)) => Err(fault),
        // Only a source that tells schemas apart says so.
        Err(super::encode::Failure::Foreign(path)) => Err(Fault { path, kind: FaultKind::NoFit }),
        Err(super::encode::Failure::Failed(never)) => match never {},
    }
}

/// Reads [`Value`]s for the encoder.
#[derive(Clone, Copy, Debug)]
struct Reader<'v>(std::marker::PhantomData<&'v Value>);

/// The rest of a list or a map.
#[derive(Debug)]
enum Walk<'v> {
    Items(std::slice::Iter<'v, Value>),
    Members(std::slice::Iter<'v, (Text<'static>, Value)>),
}

type Failed = super::encode::Failure<std::convert::Infallible>;

impl<'v> Source for Reader<'v> {
    type Value = &'v Value;
    type Shape = ();
    type Error = std::convert::Infallible;
    type Walk = Walk<'v>;
    type Key = &'v Text<'static>;

    fn walk(&self, value: &&'v Value) -> Result<Walk<'v>, Failed> {
        Ok(match value {
            Value::List(items) => Walk::Items(items.iter()),
            Value::Map(members) => Walk::Members(members.iter()),
            _ => Walk::Items([].iter()),
        })
    }

    fn step(&self, walk: &mut Walk<'v>) -> Stepped<Self> {
        Ok(match walk {
            Walk::Items(items) => items.next().map(|item| (None, item)),
            Walk::Members(members) => members.next().map(|(key, value)| (Some(key), value)),
        })
    }

    fn spelled(
        &self,
        key: &&'v Text<'static>,
        then: impl FnOnce(Node<'_>) -> Written<Self>,
    ) -> Written<Self> {
        then(text_node(key))
    }

    fn node<'n>(&self, value: &'n &'v Value) -> Node<'n> {
        match value {
            Value::Null => Node::Null,
            Value::Bool(value) => Node::Bool(*value),
            Value::Signed(value) => Node::Signed(*value),
            Value::Unsigned(value) => Node::Unsigned(*value),
            Value::Digits(raw) => Node::Digits(raw),
            Value::Float(value) => Node::Float(*value),
            Value::Str(text) => text_node(text),
            Value::List(_) => Node::List,
            Value::Map(_) => Node::Map,
            Value::Object(object) => Node::Record(object.record),
        }
    }

    fn each_item<F>(&self, list: &&'v Value, mut each: F) -> Written<Self>
    where
        F: FnMut(&&'v Value) -> Written<Self>,
    {
        let Value::List(items) = list else { return Ok(()) };
        items.iter().try_for_each(|item| each(&item))
    }

    fn each_member<F>(&self, map: &&'v Value, mut each: F) -> Written<Self>
    where
        F: FnMut(Node<'_>, &&'v Value) -> Written<Self>,
    {
        let Value::Map(members) = map else { return Ok(()) };
        members.iter().try_for_each(|(key, value)| each(text_node(key), &value))
    }

    fn each_extra<F>(&self, object: &&'v Value, mut each: F) -> Written<Self>
    where
        F: FnMut(Node<'_>, &&'v Value) -> Written<Self>,
    {
        let Value::Object(object) = object else { return Ok(()) };
        object.extra.iter().try_for_each(|(key, value)| each(text_node(key), &value))
    }

    fn set(&self, object: &&'v Value) -> u64 {
        let Value::Object(object) = object else { return 0 };
        object
            .fields
            .iter()
            .enumerate()
            .fold(0, |bits, (at, value)| bits | (u64::from(value.is_some()) << at))
    }

    fn shape(&self, _object: &&'v Value) {}

    fn field(&self, (): (), object: &&'v Value, field: usize) -> Option<&'v Value> {
        let Value::Object(object) = object else { return None };
        object.fields.get(field)?.as_ref()
    }
}

fn text_node<'t>(text: &'t Text<'static>) -> Node<'t> {
    match text {
        Text::Utf8(text) => Node::Str(text),
        Text::Wtf8(bytes) => Node::Wtf8(bytes),
    }
}
