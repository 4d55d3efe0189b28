//! Member names of records.
//!
//! Owns which field a member belongs to, and what a second name of a field counts.

use super::decode::{Decoder, Members};
use super::input::{Build, Input};
use super::table::{Field, Record};

impl<I: Input, B: Build<I>> Decoder<I, B> {
    /// The field of a member name. Writers keep to one order, so the search begins after the last one found.
    #[inline]
    pub(super) fn find_field(
        &self,
        record: &'static Record,
        key: I::Key,
        likely: usize,
    ) -> Option<usize> {
        let (before, after) =
            record.fields.split_at_checked(likely).unwrap_or((record.fields, &[]));
        let named = |field: &Field| self.input.names(key, field);
        let later = after.iter().position(named).map(|at| likely + at);
        later.or_else(|| before.iter().position(named))
    }

    /// Whether the member `key` of a field that has a second name goes by that one, while its own is there, too: that
    /// wins wherever they stand, and the other is a member like any that is not known.
    pub(super) fn is_overruled(
        &mut self,
        field: &'static Field,
        index: usize,
        key: Option<I::Key>,
        object: I::Value,
        place: I::Value,
        state: &mut Members,
    ) -> bool {
        if key.is_none_or(|key| self.input.is(key, field.wire)) {
            return false;
        }
        let bit = 1 << index;
        // Once for each field: the search goes through the whole object.
        if state.searched & bit == 0 {
            state.searched |= bit;
            if self.input.find(object, field.wire).is_some() {
                state.named |= bit;
            }
            self.input.seek(place);
        }
        state.named & bit != 0
    }
}
