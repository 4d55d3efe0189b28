//! Decoding of tagged unions.
//!
//! Owns the choice of a variant: discriminators in any place, nested unions, scopes, catch-alls and variants without a
//! discriminator.

use super::decode::{Decoded, Decoder, Stop, Tags};
use super::fault::FaultKind;
use super::input::{Build, Input, Kind};
use super::table::{Record, ScopeRule, Target, Type, Union, Variant};

impl<I: Input, B: Build<I>> Decoder<I, B> {
    /// `outer` is the discriminator of the union in which this one is a variant.
    pub(super) fn union(
        &mut self,
        union: &'static Union,
        value: I::Value,
        outer: Option<&'static str>,
    ) -> Decoded<I, B> {
        if let Some(made) = self.build.variant(&mut self.input, value, union) {
            return Ok(made);
        }
        self.expect(value, Kind::Object, FaultKind::Object)?;
        // Nearly every writer puts the discriminator first; then no search is needed. A later member of the same name
        // would win, so the record watches for one.
        let mut members = self.input.members(value);
        if let Some((None, place)) = self.input.next(&mut members, union.tag)
            && let Some((variant, record)) = self.known(union, place).and_then(with_record)
        {
            let tags = Tags { outer, wire: union.tag, value: Some(variant.value) };
            let mark = self.notes.mark();
            self.input.pass(place);
            match self.record(record, value, Some(tags), Some(members)) {
                Err(Stop::Retag) => self.notes.forget(mark),
                Err(Stop::Invalid) if falls_through(union, variant) => self.notes.forget(mark),
                done => return done,
            }
        }
        self.searched(union, value, outer)
    }

    fn known(&mut self, union: &'static Union, place: I::Value) -> Option<&'static Variant> {
        if self.input.kind(place) != Kind::Str {
            return None;
        }
        let text = self.input.text(place);
        union.variants.iter().find(|variant| variant.value == text)
    }

    /// Chooses by the last discriminator in the object.
    fn searched(
        &mut self,
        union: &'static Union,
        value: I::Value,
        outer: Option<&'static str>,
    ) -> Decoded<I, B> {
        let place = self.input.find(value, union.tag);
        let is_text = place.is_some_and(|place| self.input.kind(place) == Kind::Str);
        let variant = place.and_then(|place| self.known(union, place));
        let tags = Tags { outer, wire: union.tag, value: None };
        if let Some(variant) = variant {
            if !falls_through(union, variant) {
                return self.target(union, variant, value, tags);
            }
            if let Some(made) =
                self.attempt(|decoder| decoder.target(union, variant, value, tags))?
            {
                return Ok(made);
            }
        }
        let unheard = is_text && variant.is_none();
        match (union.untagged, union.other) {
            // Reached with a known discriminator only where the choice goes by its absence.
            (Some(_), _) if union.untagged_when_absent && variant.is_some() => {
                Err(self.fault(FaultKind::UnknownVariant))
            }
            (Some(_), Some(other)) if unheard => self.other(other, value, outer),
            (Some(_), _) if union.untagged_when_absent && place.is_some() => {
                Err(self.fault(FaultKind::TagMissing))
            }
            (Some(record), _) => self.record(record, value, Some(tags), None),
            (None, Some(other)) if is_text => self.other(other, value, outer),
            (None, None) if is_text && variant.is_none() && self.options.keep_unknown => {
                Ok(self.build.open(&mut self.input, value)?)
            }
            (None, _) if is_text => Err(self.fault(FaultKind::UnknownVariant)),
            (None, _) => Err(self.fault(FaultKind::TagMissing)),
        }
    }

    /// A catch-all: its own discriminator is a field, that of the union around is no part of it.
    fn other(
        &mut self,
        record: &'static Record,
        value: I::Value,
        outer: Option<&'static str>,
    ) -> Decoded<I, B> {
        self.record(record, value, outer.map(|wire| Tags { outer: None, wire, value: None }), None)
    }

    fn target(
        &mut self,
        union: &'static Union,
        variant: &'static Variant,
        value: I::Value,
        tags: Tags,
    ) -> Decoded<I, B> {
        match variant.target {
            Target::Record(record) => self.record(record, value, Some(tags), None),
            Target::Union(inner) => self.union(inner, value, Some(union.tag)),
            Target::Scoped(scopes) => self.scoped(union.scope, scopes, value, tags),
        }
    }

    fn scoped(
        &mut self,
        rule: ScopeRule,
        scopes: &'static [(&'static str, &'static Record)],
        value: I::Value,
        tags: Tags,
    ) -> Decoded<I, B> {
        let mut present = Vec::with_capacity(scopes.len());
        for (key, record) in scopes {
            if self.input.find(value, key).is_some() {
                present.push(*record);
            }
        }
        match rule {
            ScopeRule::First => {
                for (_, record) in scopes {
                    if let Some(made) =
                        self.attempt(|decoder| decoder.record(record, value, Some(tags), None))?
                    {
                        return Ok(made);
                    }
                }
                // None fits: the faults of the scope whose key is there say most.
                let record = present.first().copied().or(scopes.first().map(|(_, record)| *record));
                match record {
                    Some(record) => self.record(record, value, Some(tags), None),
                    None => Err(self.fault(FaultKind::Scope)),
                }
            }
            ScopeRule::ExactlyOne => {
                let &[mine] = present.as_slice() else { return Err(self.fault(FaultKind::Scope)) };
                let foreign = scopes
                    .iter()
                    .flat_map(|(_, record)| record.fields)
                    .filter(|field| !mine.fields.iter().any(|own| own.wire == field.wire));
                for field in foreign {
                    if self.input.find(value, field.wire).is_some() {
                        return Err(self.fault(FaultKind::Scope));
                    }
                }
                self.record(mine, value, Some(tags), None)
            }
            ScopeRule::FirstPresent => {
                match present.first().copied().or(scopes.first().map(|(_, record)| *record)) {
                    Some(record) => self.record(record, value, Some(tags), None),
                    None => Err(self.fault(FaultKind::Scope)),
                }
            }
        }
    }
}

fn with_record(variant: &'static Variant) -> Option<(&'static Variant, &'static Record)> {
    match variant.target {
        Target::Record(record) => Some((variant, record)),
        _ => None,
    }
}

/// Whether a variant that does not fit is read as the variant without a discriminator.
fn falls_through(union: &Union, variant: &Variant) -> bool {
    union.untagged.is_some() && !union.untagged_when_absent && !union.guard.contains(&variant.value)
}

/// The records that a value of `union` can be an object of.
pub(super) fn has_variant(union: &Union, record: &Record) -> bool {
    let same = |other: &Record| other.name == record.name;
    union.other.is_some_and(same)
        || union.untagged.is_some_and(same)
        || union.variants.iter().any(|variant| match variant.target {
            Target::Record(target) => same(target),
            Target::Union(inner) => has_variant(inner, record),
            Target::Scoped(scopes) => scopes.iter().any(|(_, target)| same(target)),
        })
}

impl Union {
    /// Whether an object of `record` is a value of the union.
    #[must_use]
    pub fn has(&self, record: &Record) -> bool {
        has_variant(self, record)
    }
}

/// The union that values of `ty` belong to, through lists and maps.
#[must_use]
pub fn union_of(ty: &Type) -> Option<&'static Union> {
    match ty {
        Type::Union(union) => Some(union),
        Type::List(item) | Type::Map(item) => union_of(item),
        _ => None,
    }
}
