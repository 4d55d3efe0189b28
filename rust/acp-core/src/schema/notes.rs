//! What the decoder notes on its way: faults, and what it left out of values that were read all the same.
//!
//! Owns both lists, the places in them, and their bounds. Knows no rule of the schema.

use super::fault::{Fault, FaultKind, Loc};
use super::table::Field;

/// With so many faults in one array or map, the rest of it is not looked at: what a peer sends must not decide how long
/// the answer to it is.
const MOST_FAULTS: usize = 64;

/// So much of what was left out is told with its place, and of the rest the number: a list has as many items as its
/// writer likes.
const MOST_SKIPPED: usize = 64;

/// What was left out of a value: items of lists, and members that read as absent.
#[derive(Debug, Default)]
pub struct Skipped {
    /// How many.
    pub count: usize,
    /// What is wrong with the first ones, one fault for each.
    pub faults: Vec<Fault>,
}

/// How far the notes were at some moment.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    faults: usize,
    skipped: usize,
}

/// The notes. Neither list takes memory before it has an entry.
#[derive(Debug, Default)]
pub(super) struct Notes {
    faults: Vec<Fault>,
    skipped: Skipped,
}

impl Notes {
    #[inline]
    pub(super) fn mark(&self) -> Mark {
        Mark { faults: self.faults.len(), skipped: self.skipped.count }
    }

    /// Whether there are faults since `mark`.
    #[inline]
    pub(super) fn is_faulty(&self, mark: Mark) -> bool {
        self.faults.len() > mark.faults
    }

    /// Whether there are so many that no more are looked for.
    pub(super) fn is_full(&self, mark: Mark) -> bool {
        self.faults.len() - mark.faults >= MOST_FAULTS
    }

    #[cold]
    pub(super) fn fault(&mut self, kind: FaultKind) {
        self.faults.push(Fault { path: Vec::new(), kind });
    }

    /// Adds a step to the place of the faults since `mark`. The value has them, so that what was left out of it is
    /// nothing to tell of.
    #[cold]
    pub(super) fn locate(&mut self, mark: Mark, step: Loc) {
        self.forget_skipped(mark);
        for fault in self.faults.iter_mut().skip(mark.faults) {
            fault.path.push(step);
        }
    }

    /// Drops all since `mark`.
    #[cold]
    pub(super) fn forget(&mut self, mark: Mark) {
        self.faults.truncate(mark.faults);
        self.forget_skipped(mark);
    }

    fn forget_skipped(&mut self, mark: Mark) {
        self.skipped.count = mark.skipped;
        self.skipped.faults.truncate(mark.skipped);
    }

    /// The faults since `mark` are those of something that is left out, at `step` of what it is in.
    #[cold]
    pub(super) fn skip(&mut self, mark: Mark, step: Option<Loc>) {
        self.forget_skipped(mark);
        if self.skipped.count < MOST_SKIPPED
            && let Some(mut fault) = self.faults.drain(mark.faults..).next()
        {
            fault.path.extend(step);
            self.skipped.faults.push(fault);
        }
        self.faults.truncate(mark.faults);
        self.skipped.count += 1;
    }

    /// Adds a step to the place of what was left out since `mark`.
    #[inline]
    pub(super) fn inside(&mut self, mark: Mark, step: Loc) {
        if self.skipped.count > mark.skipped {
            self.place(mark, step);
        }
    }

    #[cold]
    fn place(&mut self, mark: Mark, step: Loc) {
        for fault in self.skipped.faults.iter_mut().skip(mark.skipped) {
            fault.path.push(step);
        }
    }

    /// Drops the faults that an earlier member of the same name left: the last one wins. `mark` is from before the
    /// members, `before` from before the last one.
    #[cold]
    pub(super) fn settle(&mut self, mark: Mark, before: Mark, field: &Field) {
        let mut at = 0;
        self.faults.retain(|fault| {
            at += 1;
            let earlier = at > mark.faults && at <= before.faults;
            !(earlier && fault.path.last() == Some(&Loc::Member(field.wire)))
        });
    }

    pub(super) fn take_faults(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.faults)
    }

    pub(super) fn take_skipped(&mut self) -> Skipped {
        std::mem::take(&mut self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_beyond_a_bound_is_only_counted() {
        let mut notes = Notes::default();
        let start = notes.mark();
        for index in 0..1000 {
            let mark = notes.mark();
            notes.fault(FaultKind::Str);
            notes.fault(FaultKind::Int);
            notes.skip(mark, Some(Loc::Index(index)));
            assert!(!notes.is_faulty(start));
        }
        notes.inside(start, Loc::Member("list"));
        let skipped = notes.take_skipped();
        assert_eq!((skipped.count, skipped.faults.len()), (1000, MOST_SKIPPED));
        assert_eq!(skipped.faults[63].path, [Loc::Index(63), Loc::Member("list")]);
        assert_eq!(skipped.faults[63].kind, FaultKind::Str);
    }

    #[test]
    fn what_is_left_out_of_a_part_that_is_left_out_is_not_told() {
        let mut notes = Notes::default();
        let outer = notes.mark();
        let inner = notes.mark();
        notes.fault(FaultKind::Str);
        notes.skip(inner, Some(Loc::Index(7)));
        notes.fault(FaultKind::Missing);
        notes.skip(outer, Some(Loc::Index(1)));
        let skipped = notes.take_skipped();
        assert_eq!(skipped.count, 1);
        assert_eq!(skipped.faults[0].path, [Loc::Index(1)]);
    }
}
