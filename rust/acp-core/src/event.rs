//! What a connection reports about the bytes that it was given.
//!
//! Events borrow the frame that they came from; whoever keeps one copies what it needs. They have no behaviour.

use crate::id::{Id, Token};
use crate::json::Str;

/// Who sent a message, on a connection that carries the traffic of two peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// The other end of the connection.
    Counterpart,
    /// The one behind it, whose messages come in envelopes.
    Successor,
}

/// What became of a part of the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// A request. It is answered exactly once, by its token.
    Request {
        /// Names the request.
        token: Token,
        /// The peer's id for it.
        id: &'a Id,
        /// The method.
        method: Str<'a>,
        /// The JSON text of the params, an object or an array; None when they are absent or `null`.
        params: Option<&'a str>,
        /// `params.sessionId`, when it is a string.
        lane: Option<Str<'a>>,
        /// Who asks.
        peer: Peer,
        /// Bytes of the frame or of the batch entry.
        size: usize,
    },
    /// A notification.
    Notification {
        /// Set for an entry of a batch, whose replies wait until the notification was handled.
        token: Option<Token>,
        /// The method.
        method: Str<'a>,
        /// The JSON text of the params, an object or an array; None when they are absent or `null`.
        params: Option<&'a str>,
        /// `params.sessionId`, when it is a string.
        lane: Option<Str<'a>>,
        /// Who tells.
        peer: Peer,
        /// Bytes of the frame or of the batch entry.
        size: usize,
    },
    /// The answer to a request of ours, which is settled by it.
    Response {
        /// Our id.
        id: i64,
        /// The method of our request.
        method: &'a str,
        /// What the peer answered.
        outcome: Outcome<'a>,
        /// `result.sessionId`, when it is a string.
        lane: Option<Str<'a>>,
        /// Bytes of the frame or of the batch entry.
        size: usize,
    },
    /// The peer cancelled a request that is not answered yet. It still has to be answered.
    Cancelled {
        /// Names the request.
        token: Token,
        /// The peer's id for it.
        id: &'a Id,
    },
    /// Something that is no message, or that could not be read.
    Rejected {
        /// What is wrong with it.
        reason: Reason,
        /// Whether an error was queued for it.
        answered: bool,
        /// The code of a [`Reason::Error`].
        code: Option<i32>,
        /// The bytes of the frame or of the batch entry; of one over the limit on length only those at its beginning
        /// that were kept.
        raw: &'a [u8],
        /// Bytes of the frame or of the batch entry.
        size: usize,
    },
}

/// The answer to a request of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// Success, with the JSON text of the result.
    Result(&'a str),
    /// An error.
    Error {
        /// Any code, not only the known ones.
        code: i32,
        /// The message.
        message: Str<'a>,
        /// The JSON text of the data; None when there is no such member, which `null` is not.
        data: Option<&'a str>,
        /// The JSON text of the whole error object, unknown members included.
        raw: &'a str,
    },
    /// The success of an `initialize` for which the peer has chosen a version that is not this connection's, which stays
    /// uninitialized.
    Mismatch {
        /// That version.
        selected: u16,
        /// The JSON text of the result, in the form of that version.
        text: &'a str,
    },
    /// The answer was there and could not be read.
    Malformed {
        /// What is wrong with it.
        reason: Reason,
        /// As in [`Event::Rejected`].
        raw: &'a [u8],
    },
}

/// Why something was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It is not JSON.
    Parse,
    /// Its nesting is over the limit.
    Depth,
    /// Its length is over the limit.
    Size,
    /// It is not UTF-8.
    Utf8,
    /// It is JSON, and no message.
    Envelope,
    /// A member of the envelope occurs twice.
    Duplicate,
    /// An empty array, one with too many entries, or any array where none is accepted.
    Batch,
    /// A response that answers no request of ours.
    Response,
    /// The id of a request is none.
    Id,
    /// An error of the peer's with a null id: something of ours could not be read, and it cannot tell what.
    Error,
    /// A `$/cancel_request` that names no id.
    Cancel,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 11] = [
        Self::Parse,
        Self::Depth,
        Self::Size,
        Self::Utf8,
        Self::Envelope,
        Self::Duplicate,
        Self::Batch,
        Self::Response,
        Self::Id,
        Self::Error,
        Self::Cancel,
    ];

    /// One word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Depth => "depth",
            Self::Size => "size",
            Self::Utf8 => "utf8",
            Self::Envelope => "envelope",
            Self::Duplicate => "duplicate",
            Self::Batch => "batch",
            Self::Response => "response",
            Self::Id => "id",
            Self::Error => "error",
            Self::Cancel => "cancel",
        }
    }
}

/// What a connection has seen so far, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames received, blank ones not counted.
    pub frames: u64,
    /// Requests received.
    pub requests: u64,
    /// Notifications received.
    pub notifications: u64,
    /// Responses received that settled a request of ours, malformed ones included.
    pub responses: u64,
    /// Frames and entries that were rejected, by reason in the order of [`Reason::ALL`].
    pub rejected: [u64; Reason::ALL.len()],
    /// Responses that settled a request of ours and could not be read.
    pub malformed_responses: u64,
    /// Responses to requests that were given up.
    pub swallowed_responses: u64,
    /// Notifications that were lost because they were over a limit.
    pub lost_notifications: u64,
    /// Frames and entries that were rejected without the error that is due, because too much output was unread.
    pub unanswered: u64,
    /// `$/cancel_request` notifications that name an id and hit no unanswered request, or only such as were cancelled
    /// before.
    pub idle_cancellations: u64,
    /// Requests of the peer refused by the rules of initialization.
    pub refused: u64,
    /// Notifications of the peer ignored because they came before initialization.
    pub early_notifications: u64,
    /// Versions of `initialize` that only the lax reading accepts.
    pub lax_versions: u64,
}

impl Counters {
    /// How often something was rejected for `reason`.
    #[must_use]
    pub fn rejected(&self, reason: Reason) -> u64 {
        self.rejected.get(reason as usize).copied().unwrap_or_default()
    }

    pub(crate) fn reject(&mut self, reason: Reason) {
        if let Some(count) = self.rejected.get_mut(reason as usize) {
            *count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_counted_in_its_own_place() {
        for (at, reason) in Reason::ALL.into_iter().enumerate() {
            let mut counters = Counters::default();
            counters.reject(reason);
            assert_eq!(counters.rejected[at], 1);
            assert_eq!(counters.rejected.iter().sum::<u64>(), counters.rejected(reason));
        }
    }
}
