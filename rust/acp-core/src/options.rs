//! What a connection is told once, when it is made.

/// Which side of the protocol a connection serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The serving side. It answers malformed input with an error whose id is `null`.
    Agent,
    /// The other side. It answers nothing to malformed input: what a peer prints by mistake needs no reply.
    Client,
}

/// What becomes of a frame that holds an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchPolicy {
    /// Each entry is a message of its own, and the replies leave together.
    Accept,
    /// The whole frame is refused with one error.
    Reject,
}

/// The settings of a connection.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own, given by name")]
pub struct Options {
    /// Which side this is.
    pub role: Role,
    /// The protocol version that is spoken.
    pub version: u16,
    /// What becomes of arrays.
    pub batches: BatchPolicy,
    /// Refuse requests of the peer until `initialize` was answered with success. Version 2 always does.
    pub require_initialize: bool,
    /// Let a connection of version 2 initialize again after a success, as long as no other request was accepted since.
    pub allow_reinitialize: bool,
    /// The compatibility profile of version 1: an agent reads `protocolVersion` also from a digit string, an integral
    /// float, or a date (which stands for 1), and a client takes any answer to its `initialize`. An object that has
    /// neither a method nor an id is not answered.
    pub lax: bool,
    /// Hold both sides to the rules of the version for `initialize`; without it, it is a method like any other.
    pub guard: bool,
    /// Most bytes of a frame, its newline not counted.
    pub max_message_bytes: usize,
    /// Most levels of nesting in a member of a message; the envelope and the array of a batch are not counted. Values
    /// above [`crate::json::MAX_DEPTH`] mean that.
    pub max_depth: usize,
    /// Most entries of a batch.
    pub max_batch_entries: usize,
    /// Bytes of queued output above which what is no message is counted and not answered: a peer that sends such and
    /// reads nothing would have us keep more than it sent.
    pub max_unread_bytes: usize,
    /// Bytes of a frame over `max_message_bytes` that are kept from its beginning, to be reported.
    pub kept_bytes: usize,
    /// Read messages out of the envelopes in which a proxy's successor sends them.
    pub unwrap_successor: bool,
}

impl Options {
    /// The defaults for a side: version 1, batches accepted, 64 MiB, 1,024 levels, 1,024 entries, 1 MiB unread, nothing kept.
    #[must_use]
    pub fn new(role: Role) -> Self {
        Self {
            role,
            version: 1,
            batches: BatchPolicy::Accept,
            require_initialize: false,
            allow_reinitialize: true,
            lax: false,
            guard: true,
            max_message_bytes: 64 << 20,
            max_depth: crate::json::MAX_DEPTH,
            max_batch_entries: 1024,
            max_unread_bytes: 1 << 20,
            kept_bytes: 0,
            unwrap_successor: false,
        }
    }
}
