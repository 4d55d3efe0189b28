//! The members of a message's envelope.
//!
//! Owns their names, and the count of which were there and which came twice.

use crate::json::{Cursor, Str};

/// The members of the envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    /// `jsonrpc`
    Version = 1,
    /// `id`
    Id = 2,
    /// `method`
    Method = 4,
    /// `params`
    Params = 8,
    /// `result`
    Result = 16,
    /// `error`
    Error = 32,
}

impl Member {
    /// The member with this name.
    #[inline]
    pub(crate) fn of(name: Str<'_>) -> Option<Self> {
        if name.escaped {
            name.text().as_str().and_then(Self::named)
        } else {
            Self::named(name.raw)
        }
    }

    /// The member whose name is this string literal.
    pub(crate) fn of_literal(literal: &str) -> Option<Self> {
        Self::of(Cursor::new(literal).string())
    }

    #[inline]
    fn named(name: &str) -> Option<Self> {
        match name.as_bytes() {
            b"jsonrpc" => Some(Self::Version),
            b"method" => Some(Self::Method),
            b"params" => Some(Self::Params),
            b"id" => Some(Self::Id),
            b"result" => Some(Self::Result),
            b"error" => Some(Self::Error),
            _ => None,
        }
    }
}

/// Which members an envelope has, and whether one came twice.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Members {
    seen: u8,
    repeated: u8,
}

impl Members {
    #[inline]
    pub(crate) fn add(&mut self, member: Member) {
        self.repeated |= self.seen & member as u8;
        self.seen |= member as u8;
    }

    #[inline]
    pub(crate) fn has(self, member: Member) -> bool {
        self.seen & member as u8 != 0
    }

    #[inline]
    pub(crate) fn repeated(self) -> bool {
        self.repeated != 0
    }
}
