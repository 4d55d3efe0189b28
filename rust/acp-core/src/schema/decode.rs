//! Decoding by the tables.
//!
//! Owns every rule of how values are read: absence, null, leniency, skipped items, repeated members, unknown members,
//! scopes. Unions are in [`super::union`], scalars in [`super::scalar`], member names in [`super::naming`]. Knows neither
//! where the values come from nor what is made of them.

use super::encode::takes_null;
use super::fault::{Fault, FaultKind, Loc};
use super::input::{Build, Input, Kind};
use super::notes::{Mark, Notes, Skipped};
use super::table::{Extra, Field, Flags, Record, Scope, ScopeRule, Type};

/// Options of decoding.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The compatibility profile: whole doubles and strings of digits are integers.
    pub lax: bool,
    /// A string that no closed set knows is kept, and an object whose discriminator no union knows, as it is.
    pub keep_unknown: bool,
}

/// Why decoding of one value ended.
pub(super) enum Stop<E> {
    /// It does not fit; the faults are with the decoder.
    Invalid,
    /// The discriminator that was read first is not the last one of its name.
    Retag,
    /// The builder failed.
    Failed(E),
}

impl<E> From<E> for Stop<E> {
    fn from(error: E) -> Self {
        Self::Failed(error)
    }
}

/// Why a value was not decoded.
#[derive(Debug)]
pub enum Failure<E> {
    /// It does not fit its type.
    Invalid(Vec<Fault>),
    /// The builder failed.
    Failed(E),
}

pub(super) type Decoded<I, B> = Result<<B as Build<I>>::Value, Stop<<B as Build<I>>::Error>>;

/// Member names that belong to the unions around a record, not to the record.
#[derive(Clone, Copy)]
pub(super) struct Tags {
    /// The discriminator of the union around the union.
    pub outer: Option<&'static str>,
    /// The discriminator of the union.
    pub wire: &'static str,
    /// The value by which the record was chosen, when a later one may differ.
    pub value: Option<&'static str>,
}

/// Reads values by the tables.
pub struct Decoder<I, B> {
    /// Where the values come from.
    pub input: I,
    /// What makes the results.
    pub build: B,
    pub(super) options: Options,
    pub(super) notes: Notes,
}

impl<I: Input, B: Build<I>> Decoder<I, B> {
    /// Reads from `input` into `build`.
    pub fn new(input: I, build: B, options: Options) -> Self {
        Self { input, build, options, notes: Notes::default() }
    }

    /// Decodes the value at `value` as a `ty`.
    ///
    /// # Errors
    /// The faults of the value, outermost step of each path last; or the builder's error.
    pub fn decode(&mut self, ty: &Type, value: I::Value) -> Result<B::Value, Failure<B::Error>> {
        self.notes = Notes::default();
        self.value(ty, value).map_err(|stop| self.failure(stop))
    }

    /// What was left out of the value that was decoded last, taken.
    pub fn skipped(&mut self) -> Skipped {
        self.notes.take_skipped()
    }

    pub(super) fn failure(&mut self, stop: Stop<B::Error>) -> Failure<B::Error> {
        match stop {
            Stop::Failed(error) => Failure::Failed(error),
            Stop::Invalid | Stop::Retag => Failure::Invalid(self.notes.take_faults()),
        }
    }

    #[cold]
    pub(super) fn fault(&mut self, kind: FaultKind) -> Stop<B::Error> {
        self.notes.fault(kind);
        Stop::Invalid
    }

    /// Runs `attempt`; a value that does not fit is None and leaves no note.
    pub(super) fn attempt(
        &mut self,
        attempt: impl FnOnce(&mut Self) -> Decoded<I, B>,
    ) -> Result<Option<B::Value>, Stop<B::Error>> {
        let mark = self.notes.mark();
        match attempt(self) {
            Ok(value) => Ok(Some(value)),
            Err(Stop::Invalid) => {
                self.notes.forget(mark);
                Ok(None)
            }
            Err(stop) => Err(stop),
        }
    }

    pub(super) fn expect(
        &mut self,
        value: I::Value,
        kind: Kind,
        fault: FaultKind,
    ) -> Result<(), Stop<B::Error>> {
        if self.input.kind(value) == kind { Ok(()) } else { Err(self.fault(fault)) }
    }

    // -- values -------------------------------------------------------------------------------------------------------

    pub(super) fn value(&mut self, ty: &Type, value: I::Value) -> Decoded<I, B> {
        match ty {
            Type::Record(record) => match self.build.instance(&mut self.input, value, record) {
                Some(made) => Ok(made),
                None => self.record(record, value, None, None),
            },
            Type::Union(union) => self.union(union, value, None),
            Type::Str => {
                self.expect(value, Kind::Str, FaultKind::Str)?;
                Ok(self.build.string(&mut self.input, value)?)
            }
            Type::Enum(known) => self.enumeration(known, value),
            Type::Any => Ok(self.build.any(&mut self.input, value)?),
            Type::Object => {
                self.expect(value, Kind::Object, FaultKind::Object)?;
                Ok(self.build.open(&mut self.input, value)?)
            }
            Type::Bool => self.boolean(value),
            Type::Int(range) => self.integer(*range, value),
            Type::Float => self.float(value),
            Type::List(item) => self.list(item, value, false).map(|(list, _)| list),
            Type::Map(item) => self.map(item, value),
            Type::Text { min, max } => self.text(*min, *max, value),
            Type::Null => {
                // Null is always one of several types, so that this fault is never seen.
                self.expect(value, Kind::Null, FaultKind::NoFit)?;
                self.input.pass(value);
                Ok(self.build.null())
            }
            Type::Shape(shape) => {
                for member in shape.members {
                    if let Some(made) = self.attempt(|decoder| decoder.value(member, value))? {
                        return Ok(made);
                    }
                }
                Err(self.fault(FaultKind::NoFit))
            }
        }
    }

    /// A list, and whether it is empty. With `skip`, items that do not fit are left out.
    fn list(
        &mut self,
        item: &Type,
        value: I::Value,
        skip: bool,
    ) -> Result<(B::Value, bool), Stop<B::Error>> {
        self.expect(value, Kind::List, FaultKind::List)?;
        let mark = self.notes.mark();
        let mut list = self.build.begin_list()?;
        let mut items = self.input.items(value);
        let mut index = 0;
        while let Some(place) = self.input.item(&mut items) {
            let before = self.notes.mark();
            match self.value(item, place) {
                Ok(made) => {
                    self.notes.inside(before, Loc::Index(index));
                    self.build.push(&mut list, made)?;
                }
                Err(Stop::Invalid) => {
                    if skip {
                        self.notes.skip(before, Some(Loc::Index(index)));
                    } else {
                        self.notes.locate(before, Loc::Index(index));
                    }
                    if self.notes.is_full(mark) {
                        return Err(Stop::Invalid);
                    }
                    self.input.pass(place);
                }
                Err(stop) => return Err(stop),
            }
            index += 1;
        }
        if self.notes.is_faulty(mark) {
            return Err(Stop::Invalid);
        }
        let empty = self.build.is_empty(&list);
        Ok((self.build.end_list(list), empty))
    }

    fn map(&mut self, item: &Type, value: I::Value) -> Decoded<I, B> {
        self.expect(value, Kind::Object, FaultKind::Object)?;
        let mark = self.notes.mark();
        let mut map = self.build.begin_map()?;
        let mut members = self.input.members(value);
        // For when a member does not fit: whether each is the last one of its name.
        let mut last = None;
        let mut index = 0;
        // No member has an empty expected name in practice; one that does is found by its key all the same.
        while let Some((key, place)) = self.input.next(&mut members, "\0") {
            let before = self.notes.mark();
            match self.value(item, place) {
                Ok(made) => {
                    self.notes.inside(before, Loc::Key);
                    if let Some(key) = key {
                        self.build.insert(&mut map, &mut self.input, key, made)?;
                    }
                }
                Err(Stop::Invalid) => {
                    let last = last.get_or_insert_with(|| self.input.last_of_names(value));
                    if last.get(index).is_none_or(|last| *last) {
                        self.notes.locate(before, Loc::Key);
                    } else {
                        self.notes.forget(before);
                    }
                    if self.notes.is_full(mark) {
                        return Err(Stop::Invalid);
                    }
                    self.input.pass(place);
                }
                Err(stop) => return Err(stop),
            }
            index += 1;
        }
        if self.notes.is_faulty(mark) { Err(Stop::Invalid) } else { Ok(self.build.end_map(map)) }
    }

    // -- records ------------------------------------------------------------------------------------------------------

    /// With `begun`, the walk over the members is under way: those before were the discriminator.
    pub(super) fn record(
        &mut self,
        record: &'static Record,
        value: I::Value,
        tags: Option<Tags>,
        begun: Option<I::Members>,
    ) -> Decoded<I, B> {
        let begun = if record.only.is_empty() { begun } else { None };
        match self.input.kind(value) {
            Kind::Object => {}
            Kind::Null if record.null_is_empty => {
                self.input.pass(value);
                let object = self.build.begin(record)?;
                return Ok(self.build.end(object, record, 0)?);
            }
            _ => return Err(self.fault(FaultKind::Object)),
        }
        let mark = self.notes.mark();
        let (inactive, keep) = self.deciders(record, value);
        let mut object = self.build.begin(record)?;
        let mut state = Members::default();
        let mut members = match begun {
            Some(members) => members,
            None => self.input.members(value),
        };
        let mut likely = 0;
        loop {
            let expect = record.fields.get(likely).map_or("\0", |field| field.wire);
            let Some((key, place)) = self.input.next(&mut members, expect) else { break };
            let index = match key {
                None => Some(likely),
                Some(key) => self.find_field(record, key, likely),
            };
            let field = index.and_then(|index| Some((index, record.fields.get(index)?)));
            match field.filter(|(index, _)| inactive >> index & 1 == 0) {
                Some((index, field)) => {
                    likely = index + 1;
                    if field.alias.is_some()
                        && self.is_overruled(field, index, key, value, place, &mut state)
                    {
                        self.unknown(record, key, place, &mut object, tags, keep, None)?;
                    } else {
                        self.field(record, field, index, place, &mut object, &mut state, mark)?;
                    }
                }
                None => self.unknown(record, key, place, &mut object, tags, keep, index)?,
            }
        }
        if let Some(scope) = record.scope {
            self.scope(scope, &mut object, &mut state)?;
        }
        let mut open = !state.present & low_bits(record.fields.len());
        while open != 0 {
            let index = open.trailing_zeros() as usize;
            open &= open - 1;
            let Some(field) = record.fields.get(index) else { break };
            if field.flags.has(Flags::REQUIRED) && !field.flags.has(Flags::TOLERATED) {
                let before = self.notes.mark();
                self.notes.fault(FaultKind::Missing);
                self.notes.locate(before, Loc::Member(field.wire));
            }
        }
        if self.notes.is_faulty(mark) {
            return Err(Stop::Invalid);
        }
        Ok(self.build.end(object, record, state.set)?)
    }

    /// The fields that are not read in this object, and whether members without a field are part of the value.
    fn deciders(&mut self, record: &'static Record, value: I::Value) -> (u64, bool) {
        let mut inactive = 0;
        for only in record.only {
            if !self
                .decider_is(record, value, only.decider, |text| text == only.value)
                .unwrap_or(false)
            {
                inactive |= 1 << only.field;
            }
        }
        let keep = match record.extra {
            Extra::Drop => false,
            Extra::Keep => true,
            Extra::KeepUnless { field, known } => self
                .decider_is(record, value, field, |text| !known.contains(&text))
                .unwrap_or(false),
        };
        (inactive, keep)
    }

    fn decider_is(
        &mut self,
        record: &'static Record,
        value: I::Value,
        field: usize,
        test: impl FnOnce(&str) -> bool,
    ) -> Option<bool> {
        let place = self.input.find(value, record.fields.get(field)?.wire)?;
        (self.input.kind(place) == Kind::Str).then(|| test(&self.input.text(place)))
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the state of one record, which would otherwise be passed as one more type"
    )]
    #[inline]
    fn field(
        &mut self,
        record: &'static Record,
        field: &'static Field,
        index: usize,
        place: I::Value,
        object: &mut B::Object,
        state: &mut Members,
        mark: Mark,
    ) -> Result<(), Stop<B::Error>> {
        let known = field.flags.has(Flags::REQUIRED.and(Flags::THREE_STATE));
        if I::NULL_IS_ABSENT
            && !known
            && self.input.kind(place) == Kind::Null
            && !takes_null(&field.ty)
        {
            self.input.pass(place);
            return Ok(());
        }
        let bit = 1 << index;
        let before = self.notes.mark();
        let again = state.present & bit != 0;
        state.present |= bit;
        match self.member(field, place) {
            Ok(Some(made)) => {
                self.notes.inside(before, Loc::Member(field.wire));
                self.build.set(object, index, made);
                state.set |= bit;
                if again {
                    self.notes.settle(mark, before, field);
                }
            }
            Ok(None) => {
                self.notes.inside(before, Loc::Member(field.wire));
                if again {
                    self.build.unset(object, index);
                    self.notes.settle(mark, before, field);
                }
                state.set &= !bit;
            }
            Err(Stop::Invalid) => {
                self.notes.locate(before, Loc::Member(field.wire));
                if again {
                    self.notes.settle(mark, before, field);
                }
                self.build.unset(object, index);
                state.set &= !bit;
                // In the scopes of version 1 a bad member only rules its scope out.
                let scoped = record.scope.is_some_and(|scope| {
                    scope.rule == ScopeRule::First
                        && scope.groups.iter().any(|group| group.contains(&index))
                });
                if scoped {
                    self.notes.forget(before);
                }
                self.input.pass(place);
            }
            Err(stop) => return Err(stop),
        }
        Ok(())
    }

    /// The value of a member; None when it reads as absent.
    #[inline]
    fn member(
        &mut self,
        field: &Field,
        place: I::Value,
    ) -> Result<Option<B::Value>, Stop<B::Error>> {
        let flags = field.flags;
        if self.input.kind(place) == Kind::Null {
            if flags.has(Flags::THREE_STATE) {
                self.input.pass(place);
                return Ok(Some(self.build.null()));
            }
            if flags.has(Flags::NULLABLE.and(Flags::NULL_IS_EMPTY)) {
                self.input.pass(place);
                return Ok(None);
            }
        }
        let before = self.notes.mark();
        let made = match field.ty {
            Type::List(item) => {
                let list = self.list(item, place, flags.has(Flags::SKIP_ITEMS));
                list.and_then(|(list, empty)| {
                    if empty && flags.has(Flags::NON_EMPTY) {
                        Err(self.fault(FaultKind::TooFew))
                    } else {
                        Ok(list)
                    }
                })
            }
            ref ty => self.value(ty, place),
        };
        match made {
            Ok(made) => Ok(Some(made)),
            Err(Stop::Invalid)
                if flags.has(Flags::LENIENT)
                    || (self.options.lax && flags.has(Flags::LENIENT_WHEN_LAX)) =>
            {
                // Null is a way to say nothing, so that nothing is lost with it.
                if self.input.kind(place) == Kind::Null {
                    self.notes.forget(before);
                } else {
                    self.notes.skip(before, None);
                }
                self.input.pass(place);
                Ok(None)
            }
            Err(stop) => Err(stop),
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the state of one record, which would otherwise be passed as one more type"
    )]
    fn unknown(
        &mut self,
        record: &'static Record,
        key: Option<I::Key>,
        place: I::Value,
        object: &mut B::Object,
        tags: Option<Tags>,
        keep: bool,
        field: Option<usize>,
    ) -> Result<(), Stop<B::Error>> {
        let wire = field.and_then(|index| record.fields.get(index)).map(|field| field.wire);
        let named = |input: &I, name: &str| {
            wire == Some(name) || key.is_some_and(|key| input.is(key, name))
        };
        if let Some(tags) = tags {
            if named(&self.input, tags.wire) {
                if let Some(expected) = tags.value
                    && (self.input.kind(place) != Kind::Str || self.input.text(place) != expected)
                {
                    return Err(Stop::Retag);
                }
                self.input.pass(place);
                return Ok(());
            }
            if tags.outer.is_some_and(|outer| named(&self.input, outer)) {
                self.input.pass(place);
                return Ok(());
            }
        }
        match key {
            Some(key) if keep || I::COLLECT => {
                let made = self.build.any(&mut self.input, place)?;
                self.build.extra(object, &mut self.input, key, made)?;
            }
            _ => self.input.pass(place),
        }
        Ok(())
    }

    fn scope(
        &mut self,
        scope: &Scope,
        object: &mut B::Object,
        state: &mut Members,
    ) -> Result<(), Stop<B::Error>> {
        let has = |bits: u64, index: usize| bits >> index & 1 == 1;
        let keyed = |bits: u64, group: &[usize]| group.first().is_some_and(|key| has(bits, *key));
        let mine = match scope.rule {
            ScopeRule::ExactlyOne => {
                let mut keyed = scope.groups.iter().filter(|group| keyed(state.present, group));
                let only = keyed.next().filter(|_| keyed.next().is_none());
                only.filter(|mine| {
                    let mut others = scope.groups.iter().filter(|group| group != mine);
                    others.all(|group| group.iter().all(|index| !has(state.present, *index)))
                })
            }
            ScopeRule::First | ScopeRule::FirstPresent => {
                scope.groups.iter().find(|group| keyed(state.set, group))
            }
        };
        let Some(mine) = mine else {
            // Programs make requests of their own modes without one.
            if self.options.lax && scope.rule == ScopeRule::First {
                return Ok(());
            }
            return Err(self.fault(FaultKind::Scope));
        };
        for group in scope.groups.iter().filter(|group| *group != mine) {
            for index in *group {
                if has(state.set, *index) {
                    self.build.unset(object, *index);
                    state.set &= !(1 << index);
                }
            }
        }
        Ok(())
    }
}

/// Which fields of a record were met, one bit each.
#[derive(Default)]
pub(super) struct Members {
    /// A member of the name was there.
    present: u64,
    /// The field has a value.
    set: u64,
    /// A member by the field's second name was met, and one by its own looked for.
    pub searched: u64,
    /// That one is there.
    pub named: u64,
}

fn low_bits(count: usize) -> u64 {
    u64::MAX.checked_shr(64 - u32::try_from(count.min(64)).unwrap_or(64)).unwrap_or(0)
}
