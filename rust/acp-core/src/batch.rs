//! Replies to the entries of a batch, kept until all are there.
//!
//! Owns the slots: one for each entry that is answered, filled in any order, sent in the order of the entries. Knows
//! nothing of ids and methods.

use std::collections::BTreeMap;

use crate::id::Token;

/// Names a batch of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BatchKey(u64);

/// Names the place of one reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    batch: BatchKey,
    place: usize,
}

#[derive(Debug, Default)]
struct Batch {
    /// Replies as JSON text; None while one is outstanding.
    replies: Vec<Option<Vec<u8>>>,
    missing: usize,
    unhandled: usize,
    /// Entries may still come.
    open: bool,
}

impl Batch {
    fn is_done(&self) -> bool {
        !self.open && self.missing == 0 && self.unhandled == 0
    }

    fn write(self, out: &mut Vec<u8>) {
        let mut separator = b'[';
        for reply in self.replies.into_iter().flatten() {
            out.push(separator);
            out.extend_from_slice(&reply);
            separator = b',';
        }
        // Nothing was answered when no reply opened the array.
        if separator == b',' {
            out.push(b']');
        }
    }
}

/// Memory of a reply: short ones take more for their place than for their text.
fn cost(reply: &[u8]) -> usize {
    reply.len() + 2 * size_of::<Option<Vec<u8>>>()
}

/// The batches of a connection that are not answered yet.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    next: u64,
    open: BTreeMap<BatchKey, Batch>,
    /// Memory of the replies that are there, of all batches.
    held: usize,
    notifications: BTreeMap<Token, BatchKey>,
}

impl Batches {
    /// Begins a batch.
    pub(crate) fn open(&mut self) -> BatchKey {
        let key = BatchKey(self.next);
        self.next += 1;
        self.open.insert(key, Batch { open: true, ..Batch::default() });
        key
    }

    /// Makes room for the reply to the next entry.
    pub(crate) fn add_slot(&mut self, key: BatchKey) -> Slot {
        let batch = self.open.entry(key).or_default();
        batch.replies.push(None);
        batch.missing += 1;
        Slot { batch: key, place: batch.replies.len() - 1 }
    }

    /// Lets the batch wait until `token` was handled.
    pub(crate) fn add_notification(&mut self, key: BatchKey, token: Token) {
        self.open.entry(key).or_default().unhandled += 1;
        self.notifications.insert(token, key);
    }

    /// Ends the entries of a batch; its replies are appended to `out` when they are all there.
    pub(crate) fn close(&mut self, key: BatchKey, out: &mut Vec<u8>) {
        if let Some(batch) = self.open.get_mut(&key) {
            batch.open = false;
        }
        self.send_when_done(key, out);
    }

    /// Puts a reply in its place.
    pub(crate) fn fill(&mut self, slot: Slot, mut reply: Vec<u8>, out: &mut Vec<u8>) {
        let Some(batch) = self.open.get_mut(&slot.batch) else { return };
        if let Some(place @ None) = batch.replies.get_mut(slot.place) {
            // It may be here for long, and was written with room to spare.
            reply.shrink_to_fit();
            self.held += cost(&reply);
            *place = Some(reply);
            batch.missing -= 1;
            self.send_when_done(slot.batch, out);
        }
    }

    /// Tells that a notification was handled.
    pub(crate) fn handled(&mut self, token: Token, out: &mut Vec<u8>) {
        let Some(key) = self.notifications.remove(&token) else { return };
        if let Some(batch) = self.open.get_mut(&key) {
            batch.unhandled -= 1;
            self.send_when_done(key, out);
        }
    }

    /// Bytes of memory that replies take which wait for others of their batches.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Forgets all batches: nobody takes what they would be answered with.
    pub(crate) fn abandon(&mut self) {
        self.open.clear();
        self.notifications.clear();
        self.held = 0;
    }

    /// Number of batches that are not answered yet.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    fn send_when_done(&mut self, key: BatchKey, out: &mut Vec<u8>) {
        if self.open.get(&key).is_some_and(Batch::is_done)
            && let Some(batch) = self.open.remove(&key)
        {
            self.held -= batch.replies.iter().flatten().map(|reply| cost(reply)).sum::<usize>();
            batch.write(out);
        }
    }
}
