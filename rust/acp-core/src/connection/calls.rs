//! The requests of this side that wait for their answer.
//!
//! Owns the ids, which are integers from 0 in the order of sending, and what is remembered of a request that was given
//! up, so that its answer, when it comes after all, is told from one that nobody asked for.

use std::collections::{BTreeMap, BTreeSet};

/// Most given-up requests that are remembered; of more, the oldest are forgotten for good.
const MAX_FORGOTTEN: usize = 65_536;

/// A request that waits.
#[derive(Debug)]
pub(super) struct Pending {
    pub method: Box<str>,
    /// Its success completes initialization.
    pub opens: bool,
    /// `$/cancel_request` was sent for it.
    pub cancelled: bool,
}

/// What an answer finds.
#[derive(Debug)]
pub(super) enum Settled {
    Pending(Pending),
    Forgotten,
    Unknown,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Calls {
    next: i64,
    pending: BTreeMap<i64, Pending>,
    forgotten: BTreeSet<i64>,
}

impl Calls {
    /// The id that the next request gets.
    pub(super) fn next_id(&self) -> i64 {
        self.next
    }

    /// Registers a request under [`Calls::next_id`].
    pub(super) fn add(&mut self, method: &str, opens: bool) {
        self.pending.insert(self.next, Pending { method: method.into(), opens, cancelled: false });
        self.next += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn settle(&mut self, id: i64) -> Settled {
        match self.pending.remove(&id) {
            Some(pending) => Settled::Pending(pending),
            None if self.forgotten.remove(&id) => Settled::Forgotten,
            None => Settled::Unknown,
        }
    }

    /// True once for a request that waits.
    pub(super) fn cancel(&mut self, id: i64) -> bool {
        let Some(pending) = self.pending.get_mut(&id) else { return false };
        !core::mem::replace(&mut pending.cancelled, true)
    }

    pub(super) fn forget(&mut self, id: i64) -> Option<Pending> {
        let pending = self.pending.remove(&id)?;
        self.forgotten.insert(id);
        if self.forgotten.len() > MAX_FORGOTTEN {
            self.forgotten.pop_first();
        }
        Some(pending)
    }

    pub(super) fn pending(&self) -> impl Iterator<Item = (i64, &str)> {
        self.pending.iter().map(|(id, pending)| (*id, &*pending.method))
    }
}
