//! The requests of the peer that are not answered yet.
//!
//! Owns their identity: each has a token of its own, while the peer may use an id for several at once.

use std::collections::{BTreeMap, BTreeSet};

use crate::batch::Slot;
use crate::id::{Id, Token};

/// Where a reply goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReplyTo {
    /// Into a frame of its own.
    Line,
    /// Into a place among the replies to a batch.
    Slot(Slot),
}

/// A request that is not answered.
#[derive(Debug)]
pub(super) struct Open {
    pub id: Id,
    pub method: Box<str>,
    pub reply: ReplyTo,
    /// Its success completes initialization.
    pub opens: bool,
    /// It was received while an `initialize` was unanswered, and counts only if that succeeds.
    pub conditional: bool,
    pub cancelled: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Requests {
    open: BTreeMap<Token, Open>,
    /// Those that are not cancelled: a peer that cancels one id again and again finds each request once.
    by_id: BTreeSet<(Id, Token)>,
}

impl Requests {
    pub(super) fn insert(&mut self, token: Token, request: Open) -> &Open {
        self.by_id.insert((request.id.clone(), token));
        self.open.entry(token).or_insert(request)
    }

    pub(super) fn get(&self, token: Token) -> Option<&Open> {
        self.open.get(&token)
    }

    pub(super) fn remove(&mut self, token: Token) -> Option<Open> {
        let request = self.open.remove(&token)?;
        let key = (request.id, token);
        self.by_id.remove(&key);
        Some(Open { id: key.0, ..request })
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether one of them counts only if an `initialize` succeeds.
    pub(super) fn has_conditional(&self) -> bool {
        self.open.values().any(|request| request.conditional)
    }

    /// Marks all requests with this id as cancelled and names those that were not before. False when there is none.
    pub(super) fn cancel(&mut self, id: Id, mut hit: impl FnMut(Token, &Id)) -> bool {
        let mut found = false;
        let mut from = (id, Token::new(0));
        while let Some(token) = self.by_id.range(&from..).next().filter(|next| next.0 == from.0) {
            from.1 = token.1;
            self.by_id.remove(&from);
            if let Some(request) = self.open.get_mut(&from.1) {
                request.cancelled = true;
                hit(from.1, &from.0);
                found = true;
            }
        }
        found
    }
}
