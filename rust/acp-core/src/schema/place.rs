//! Objects on their own: the discriminators that an object has by where its record stands among the unions.
//!
//! Owns what constructors need and messages do not: a message says which record it is by its discriminator, a
//! constructor was chosen, and a discriminator that is given to it has to agree.

use super::decode::{Decoded, Decoder, Failure, Stop, Tags};
use super::fault::{FaultKind, Loc};
use super::input::{Build, Input, Kind};
use super::notes::Notes;
use super::table::{Record, Schema, Target, Type, Union};

/// Where a record stands among the unions.
#[derive(Clone, Copy, Default)]
pub struct Place {
    /// Wire name and value of the discriminator of the union in which the record's union is a variant.
    pub outer: Option<(&'static str, &'static str)>,
    /// The union whose catch-all the record is.
    pub catches: Option<&'static Union>,
}

impl Schema {
    /// Where `record` stands among the unions. A search: the result is to be kept.
    #[must_use]
    pub fn place(&self, record: &Record) -> Place {
        let mut place = Place::default();
        for (_, ty) in self.types {
            let Type::Union(union) = ty else { continue };
            if union.other.is_some_and(|other| other.name == record.name) {
                place.catches = Some(union);
            }
            for variant in union.variants {
                let Target::Union(inner) = variant.target else { continue };
                let own = record.tag.is_some_and(|tag| tag.union == inner.name);
                if own || inner.other.is_some_and(|other| other.name == record.name) {
                    place.outer = Some((union.tag, variant.value));
                }
            }
        }
        place
    }
}

impl<I: Input, B: Build<I>> Decoder<I, B> {
    /// Decodes the members of the object at `value` as those of `record`, which stands at `place`. Discriminators may be
    /// left out; those that are there have to be the record's.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    pub fn decode_members(
        &mut self,
        record: &'static Record,
        place: Place,
        value: I::Value,
    ) -> Result<B::Value, Failure<B::Error>> {
        self.notes = Notes::default();
        self.members_at(record, place, value).map_err(|stop| self.failure(stop))
    }

    fn members_at(
        &mut self,
        record: &'static Record,
        place: Place,
        value: I::Value,
    ) -> Decoded<I, B> {
        if self.input.kind(value) == Kind::Object {
            if let Some((wire, expected)) = place.outer {
                self.agree(value, wire, |text| text == expected, FaultKind::UnknownVariant)?;
            }
            if let Some(union) = place.catches {
                let unheard = |text: &str| !union.variants.iter().any(|one| one.value == text);
                self.agree(value, union.tag, unheard, FaultKind::KnownVariant)?;
            }
        }
        let outer = place.outer.map(|(wire, _)| wire);
        let Some(tag) = record.tag else {
            let tags = outer.map(|wire| Tags { outer: None, wire, value: None });
            return self.record(record, value, tags, None);
        };
        let tags = Tags { outer, wire: tag.wire, value: Some(tag.value) };
        let mark = self.notes.mark();
        match self.record(record, value, Some(tags), None) {
            Err(Stop::Retag) => {
                self.notes.forget(mark);
                let agree = |text: &str| text == tag.value;
                self.agree(value, tag.wire, agree, FaultKind::UnknownVariant)?;
                // Two spellings of it that contradict each other.
                Err(self.fault(FaultKind::Scope))
            }
            done => done,
        }
    }

    /// Fails unless the member `wire` is absent or a string that passes `test`.
    fn agree(
        &mut self,
        object: I::Value,
        wire: &'static str,
        test: impl FnOnce(&str) -> bool,
        kind: FaultKind,
    ) -> Result<(), Stop<B::Error>> {
        let Some(place) = self.input.find(object, wire) else { return Ok(()) };
        let kind = match self.input.kind(place) {
            Kind::Str if test(&self.input.text(place)) => return Ok(()),
            Kind::Str => kind,
            _ => FaultKind::TagMissing,
        };
        let mark = self.notes.mark();
        let stop = self.fault(kind);
        self.notes.locate(mark, Loc::Member(wire));
        Err(stop)
    }
}
