//! Encoding by the tables.
//!
//! Owns which members are written, with which discriminators. What a value is, the source says; the tables only add
//! member names and what JSON itself does not show. Output is compact.

use super::fault::{Fault, FaultKind, Loc};
use super::table::{Default, Extra, Field, Flags, Record, Target, Type, Union};
use super::union::union_of;
use crate::json::{MAX_DEPTH, Writer};

/// Levels of nesting that are written by recursion.
const SHALLOW: usize = 64;

/// What a value of a source is.
#[derive(Clone, Copy, Debug)]
pub enum Node<'n> {
    /// A three-state field that is absent.
    Unset,
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer.
    Signed(i64),
    /// An integer beyond [`i64`].
    Unsigned(u64),
    /// An integer beyond 64 bits, in decimal.
    Digits(&'n str),
    /// A double.
    Float(f64),
    /// A string.
    Str(&'n str),
    /// A string with lone surrogates.
    Wtf8(&'n [u8]),
    /// An array.
    List,
    /// An object without a record.
    Map,
    /// An object of a record.
    Record(&'static Record),
    /// An object of a record of another schema than the one that is written for.
    Foreign(&'static Record),
    /// Something that JSON has no form for.
    Unwritable,
}

/// A tree of values to encode.
pub trait Source {
    /// A value, or a handle that keeps it alive.
    type Value;
    /// What the source knows about an object, found once for all of its fields.
    type Shape: Copy;
    /// What can go wrong in reading values.
    type Error;
    /// A way through the items of a list or the members of a map.
    type Walk;
    /// The name of a member.
    type Key;

    /// What a value is.
    fn node<'n>(&self, value: &'n Self::Value) -> Node<'n>;
    /// Begins the way through a list or a map.
    ///
    /// # Errors
    /// Of reading.
    fn walk(&self, value: &Self::Value) -> Result<Self::Walk, Failure<Self::Error>>;
    /// The next item, with its name where it is a member; None at the end.
    ///
    /// # Errors
    /// Of reading.
    fn step(&self, walk: &mut Self::Walk) -> Stepped<Self>;
    /// Calls `then` with the string that a name is.
    ///
    /// # Errors
    /// Those of `then`, and of reading.
    fn spelled(
        &self,
        key: &Self::Key,
        then: impl FnOnce(Node<'_>) -> Written<Self>,
    ) -> Written<Self>;
    /// Calls `each` for the items of a list.
    ///
    /// # Errors
    /// Those of `each`, and of reading.
    fn each_item<F>(&self, list: &Self::Value, each: F) -> Written<Self>
    where
        F: FnMut(&Self::Value) -> Written<Self>;
    /// Calls `each` for the members of a map, in order; a key is a string.
    ///
    /// # Errors
    /// Those of `each`, and of reading.
    fn each_member<F>(&self, map: &Self::Value, each: F) -> Written<Self>
    where
        F: FnMut(Node<'_>, &Self::Value) -> Written<Self>;
    /// Calls `each` for the members of an object that are no field.
    ///
    /// # Errors
    /// Those of `each`, and of reading.
    fn each_extra<F>(&self, object: &Self::Value, each: F) -> Written<Self>
    where
        F: FnMut(Node<'_>, &Self::Value) -> Written<Self>;
    /// The fields of an object that were set, one bit each.
    fn set(&self, object: &Self::Value) -> u64;
    /// What is known about an object, for [`Source::field`].
    fn shape(&self, object: &Self::Value) -> Self::Shape;
    /// The value of a field; None when it has none at all.
    fn field(&self, shape: Self::Shape, object: &Self::Value, field: usize) -> Option<Self::Value>;
    /// Writes a string or a number that [`Source::node`] has no way to lend, and so calls unwritable; false for others.
    ///
    /// # Errors
    /// Of reading.
    fn write(
        &self,
        _value: &Self::Value,
        _writer: &mut Writer<'_>,
    ) -> Result<bool, Failure<Self::Error>> {
        Ok(false)
    }
    /// What stands for a value that [`Source::node`] calls unwritable; None when nothing does.
    ///
    /// # Errors
    /// Of the conversion.
    fn convert(&self, _value: &Self::Value) -> Result<Option<Self::Value>, Failure<Self::Error>> {
        Ok(None)
    }
}

/// What a step on a way through items returns.
pub type Stepped<S> = Result<
    Option<(Option<<S as Source>::Key>, <S as Source>::Value)>,
    Failure<<S as Source>::Error>,
>;

/// What writing returns.
pub type Written<S> = Result<(), Failure<<S as Source>::Error>>;

/// Why a value was not written.
#[derive(Debug)]
pub enum Failure<E> {
    /// It cannot be written; outermost step of the path last.
    Invalid(Fault),
    /// An object of another schema stands where this one has a type; the way to it, innermost step first.
    Foreign(Vec<Loc>),
    /// The source failed.
    Failed(E),
}

/// Where an object stands.
#[derive(Clone, Copy)]
pub enum Position {
    /// Where its discriminator is not written.
    Bare,
    /// Where only its own discriminator is known.
    Free,
    /// Where a union's value stands.
    In(&'static Union),
}

/// Writes values by the tables.
pub struct Encoder<'s, 'o, S> {
    pub(super) source: &'s S,
    pub(super) out: &'o mut Vec<u8>,
    keep_defaults: bool,
    /// An object of another schema is being written, and with it what it holds.
    foreign: bool,
    pub(super) depth: usize,
}

impl<'s, 'o, S: Source> Encoder<'s, 'o, S> {
    /// Writes from `source` to `out`. Without `keep_defaults`, members that were set to their default are left out, as
    /// the reference implementation of the schema does.
    pub fn new(source: &'s S, out: &'o mut Vec<u8>, keep_defaults: bool) -> Self {
        Self { source, out, keep_defaults, foreign: false, depth: 0 }
    }

    fn writer(&mut self) -> Writer<'_> {
        Writer::new(self.out)
    }

    /// Writes one value as a `ty`.
    ///
    /// # Errors
    /// The first value that cannot be written.
    pub fn value(&mut self, ty: &Type, value: &S::Value, position: Position) -> Written<S> {
        let node = self.source.node(value);
        match node {
            Node::Str(text) => self.writer().string(text),
            Node::Record(record) => {
                // A variant of a union is written without its discriminator where its plain form stands.
                let position = match ty {
                    Type::Record(plain) if plain.tag.is_none() => Position::Bare,
                    _ => position,
                };
                self.deeper()?;
                self.record(record, value, position)?;
                self.depth -= 1;
            }
            Node::Null => self.writer().null(),
            Node::Bool(value) => self.writer().boolean(value),
            Node::Signed(value) => self.writer().int(value),
            Node::Unsigned(value) => self.writer().uint(value),
            Node::Digits(raw) => self.writer().raw(raw),
            Node::Float(value) => {
                if !self.writer().float(value) {
                    return Err(fault(FaultKind::Unwritable));
                }
            }
            Node::Wtf8(text) => self.writer().wtf8(text),
            // The short way takes stack for each level, and less time.
            Node::List | Node::Map if self.depth >= SHALLOW && matches!(ty, Type::Any) => {
                self.open(value, matches!(node, Node::Map))?;
            }
            Node::List => {
                self.deeper()?;
                self.list(ty, value)?;
                self.depth -= 1;
            }
            Node::Map => {
                self.deeper()?;
                self.out.push(b'{');
                self.map(ty, value, false)?;
                self.depth -= 1;
            }
            Node::Foreign(record) => return self.foreign(ty, record, value, position),
            Node::Unset | Node::Unwritable => return self.converted(ty, value, position),
        }
        Ok(())
    }

    /// Writes an object of another schema, which has no form where a type is expected. Where any value may stand there
    /// is none to miss, nor in what such an object holds.
    #[cold]
    #[inline(never)]
    fn foreign(
        &mut self,
        ty: &Type,
        record: &'static Record,
        value: &S::Value,
        position: Position,
    ) -> Written<S> {
        if !self.foreign && !matches!(ty, Type::Any) {
            return Err(Failure::Foreign(Vec::new()));
        }
        let around = std::mem::replace(&mut self.foreign, true);
        self.deeper()?;
        self.record(record, value, position)?;
        self.depth -= 1;
        self.foreign = around;
        Ok(())
    }

    /// Writes a value that is none of the source's plain ones.
    // Apart from `value`, whose frame is on the stack once for each level of nesting.
    #[cold]
    #[inline(never)]
    fn converted(&mut self, ty: &Type, value: &S::Value, position: Position) -> Written<S> {
        if self.source.write(value, &mut Writer::new(self.out))? {
            return Ok(());
        }
        let Some(other) = self.source.convert(value)? else {
            return Err(fault(FaultKind::Unwritable));
        };
        self.deeper()?;
        self.value(ty, &other, position)?;
        self.depth -= 1;
        Ok(())
    }

    pub(super) fn deeper(&mut self) -> Written<S> {
        if self.depth == MAX_DEPTH {
            return Err(fault(FaultKind::Depth));
        }
        self.depth += 1;
        Ok(())
    }

    fn list(&mut self, ty: &Type, value: &S::Value) -> Written<S> {
        let item = match ty {
            Type::List(item) => item,
            _ => &Type::Any,
        };
        let position = position_of(item);
        self.out.push(b'[');
        let mut index = 0;
        self.source.each_item(value, |place| {
            if index > 0 {
                self.out.push(b',');
            }
            self.value(item, place, position)
                .map_err(|failure| located(failure, Loc::Index(index)))?;
            index += 1;
            Ok(())
        })?;
        self.out.push(b']');
        Ok(())
    }

    /// The members of a map and the closing brace; `later` when members stand before them.
    fn map(&mut self, ty: &Type, value: &S::Value, mut later: bool) -> Written<S> {
        let item = match ty {
            Type::Map(item) => item,
            _ => &Type::Any,
        };
        let position = position_of(item);
        self.source.each_member(value, |key, place| {
            self.key(key, &mut later)?;
            self.value(item, place, position).map_err(|failure| located(failure, Loc::Key))
        })?;
        self.out.push(b'}');
        Ok(())
    }

    pub(super) fn key(&mut self, key: Node<'_>, later: &mut bool) -> Written<S> {
        if *later {
            self.out.push(b',');
        }
        *later = true;
        match key {
            Node::Str(text) => self.writer().string(text),
            Node::Wtf8(text) => self.writer().wtf8(text),
            _ => return Err(fault(FaultKind::Unwritable)),
        }
        self.out.push(b':');
        Ok(())
    }

    fn record(
        &mut self,
        record: &'static Record,
        value: &S::Value,
        position: Position,
    ) -> Written<S> {
        self.out.push(b'{');
        let mut later = false;
        if let Some(tag) = record.tag {
            if let Position::In(union) = position
                && union.name != tag.union
            {
                self.outer_tag(union, tag.union, &mut later);
            }
            if !matches!(position, Position::Bare) {
                self.member_name(tag.wire, &mut later);
                self.writer().string(tag.value);
            }
        } else if let Position::In(union) = position {
            // A catch-all holds its own discriminator as a field, but not that of the union around its union.
            if union.other.is_none_or(|other| other.name != record.name) {
                for variant in union.variants {
                    if let Target::Union(inner) = variant.target
                        && inner.has(record)
                    {
                        self.member_name(union.tag, &mut later);
                        self.writer().string(variant.value);
                    }
                }
            }
        }
        let set = self.source.set(value);
        let shape = self.source.shape(value);
        for (index, field) in record.fields.iter().enumerate() {
            self.field(field, (shape, index), value, set >> index & 1 == 1, &mut later)
                .map_err(|failure| located(failure, Loc::Member(field.wire)))?;
        }
        if self.keeps_extra(record, value) {
            // A member that a field or a discriminator has goes by that one alone.
            let own = |name: &str| {
                record.fields.iter().any(|field| field.wire == name)
                    || matches!(position, Position::In(union) if union.tag == name)
                    || !matches!(position, Position::Bare)
                        && record.tag.is_some_and(|tag| tag.wire == name)
            };
            self.source.each_extra(value, |key, place| {
                if matches!(key, Node::Str(name) if own(name)) {
                    return Ok(());
                }
                self.key(key, &mut later)?;
                self.value(&Type::Any, place, Position::Free)
                    .map_err(|failure| located(failure, Loc::Key))
            })?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn outer_tag(&mut self, union: &'static Union, inner: &str, later: &mut bool) {
        for variant in union.variants {
            if matches!(variant.target, Target::Union(target) if target.name == inner) {
                self.member_name(union.tag, later);
                self.writer().string(variant.value);
            }
        }
    }

    #[inline]
    fn member_name(&mut self, name: &str, later: &mut bool) {
        if *later {
            self.out.push(b',');
        }
        *later = true;
        self.writer().plain_key(name);
    }

    #[inline]
    fn field(
        &mut self,
        field: &'static Field,
        (shape, index): (S::Shape, usize),
        object: &S::Value,
        set: bool,
        later: &mut bool,
    ) -> Written<S> {
        let required = field.flags.has(Flags::REQUIRED);
        if !set && !required && !field.flags.has(Flags::ALWAYS) && !is_container(field.default) {
            return Ok(());
        }
        let Some(value) = self.source.field(shape, object, index) else {
            return self.absent(field, later);
        };
        let node = self.source.node(&value);
        let absent = match node {
            Node::Unset => true,
            Node::Null if required => !takes_null(&field.ty),
            Node::Null => !(set && holds_null(field)),
            _ => false,
        };
        if absent {
            return self.absent(field, later);
        }
        if !required && !field.flags.has(Flags::ALWAYS) {
            let optional =
                !field.flags.has(Flags::NULLABLE.and(Flags::THREE_STATE).and(Flags::SCOPE_KEY));
            let leave_out = !set
                || (!self.keep_defaults
                    && (optional || matches!(field.default, Default::Implied(_))));
            if leave_out && self.is_default(field.default, &value, node) {
                return Ok(());
            }
        }
        self.member_name(field.wire, later);
        self.value(&field.ty, &value, position_of(&field.ty))
    }

    /// A field without a value: what is always written takes its default.
    fn absent(&mut self, field: &'static Field, later: &mut bool) -> Written<S> {
        let text = match field.default {
            Default::Bool(true) => "true",
            Default::Bool(false) => "false",
            Default::EmptyList => "[]",
            Default::EmptyMap => "{}",
            Default::Text(text) if field.flags.has(Flags::ALWAYS) => {
                self.member_name(field.wire, later);
                self.writer().string(text);
                return Ok(());
            }
            Default::EmptyRecord if field.flags.has(Flags::ALWAYS) => {
                self.member_name(field.wire, later);
                if let Type::Record(record) = field.ty {
                    return self.empty(record);
                }
                "{}"
            }
            _ if field.flags.has(Flags::REQUIRED) => return Err(fault(FaultKind::Missing)),
            _ => return Ok(()),
        };
        if field.flags.has(Flags::ALWAYS.and(Flags::REQUIRED)) {
            self.member_name(field.wire, later);
            self.writer().raw(text);
        }
        Ok(())
    }

    /// What an object without any member set is written as.
    fn empty(&mut self, record: &'static Record) -> Written<S> {
        self.out.push(b'{');
        let mut later = false;
        for field in record.fields {
            self.absent(field, &mut later)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn is_default(&self, default: Default, value: &S::Value, node: Node<'_>) -> bool {
        let mut empty = true;
        match (default, node) {
            (Default::Bool(default), Node::Bool(value)) => default == value,
            (Default::Text(text) | Default::Implied(text), Node::Str(value)) => text == value,
            (Default::EmptyList | Default::ImpliedList, Node::List) => {
                let _ = self.source.each_item(value, |_| {
                    empty = false;
                    Ok(())
                });
                empty
            }
            (Default::EmptyMap | Default::ImpliedMap, Node::Map) => {
                let _ = self.source.each_member(value, |_, _| {
                    empty = false;
                    Ok(())
                });
                empty
            }
            _ => false,
        }
    }

    fn keeps_extra(&self, record: &'static Record, object: &S::Value) -> bool {
        match record.extra {
            Extra::Drop => false,
            Extra::Keep => true,
            Extra::KeepUnless { field, known } => {
                let value = self.source.field(self.source.shape(object), object, field);
                value.is_some_and(|value| matches!(self.source.node(&value), Node::Str(text) if !known.contains(&text)))
            }
        }
    }
}

fn is_container(default: Default) -> bool {
    matches!(default, Default::EmptyList | Default::EmptyMap)
}

/// Whether null is a value of the field that differs from its absence.
fn holds_null(field: &Field) -> bool {
    field.flags.has(Flags::THREE_STATE)
        || (field.flags.has(Flags::SCOPE_KEY) && takes_null(&field.ty))
}

pub(super) fn takes_null(ty: &Type) -> bool {
    match ty {
        Type::Any | Type::Null => true,
        Type::Shape(shape) => shape.members.iter().any(takes_null),
        _ => false,
    }
}

pub(super) fn position_of(ty: &Type) -> Position {
    union_of(ty).map_or(Position::Free, Position::In)
}

#[cold]
fn fault<E>(kind: FaultKind) -> Failure<E> {
    Failure::Invalid(Fault { path: Vec::new(), kind })
}

#[cold]
pub(super) fn located<E>(mut failure: Failure<E>, step: Loc) -> Failure<E> {
    match &mut failure {
        Failure::Invalid(fault) => fault.path.push(step),
        Failure::Foreign(path) => path.push(step),
        Failure::Failed(_) => {}
    }
    failure
}
