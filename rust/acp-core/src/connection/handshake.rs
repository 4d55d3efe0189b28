//! How far initialization is, and what may pass meanwhile.
//!
//! Owns the state of it, for either side. What the rules are, and for whom, is said in [`version`].

use std::borrow::Cow;

use super::State;
use crate::event::Outcome;
use crate::options::{Options, Role};
use crate::version::{self, Refusal, Verdict};

/// How far initialization is.
#[derive(Debug, Default)]
pub(super) struct Handshake {
    initialized: bool,
    /// Number of `initialize` requests that are not answered.
    opening: usize,
    /// Since it succeeded, another request of the client's was accepted.
    moved_on: bool,
}

impl Handshake {
    pub(super) fn initialized(&self) -> bool {
        self.initialized
    }

    pub(super) fn is_opening(&self) -> bool {
        self.opening > 0
    }

    /// Whether an `initialize` may begin.
    pub(super) fn check(&self, options: &Options) -> Result<(), Refusal> {
        if !version::has_handshake(options) {
            return Ok(());
        }
        if self.opening > 0 {
            return Err(Refusal::InProgress);
        }
        if self.initialized && (self.moved_on || !options.allow_reinitialize) {
            return Err(Refusal::TooLate);
        }
        Ok(())
    }

    /// An `initialize` was received, or sent.
    pub(super) fn begin(&mut self) {
        self.opening += 1;
    }

    /// One was answered, or is waited for no more. One that fails takes nothing back.
    pub(super) fn end(&mut self, succeeded: bool) {
        self.opening = self.opening.saturating_sub(1);
        self.initialized |= succeeded;
    }

    /// Another request of the client's was accepted.
    pub(super) fn move_on(&mut self) {
        self.moved_on = true;
    }
}

impl State {
    /// Whether requests of the peer come too early, unless an `initialize` that is unanswered succeeds.
    pub(super) fn is_too_early(&self) -> bool {
        !self.handshake.initialized() && version::refuses_early_requests(&self.options)
    }

    /// Whether requests of the peer that come too early are kept until that is known.
    pub(super) fn may_be_ready_soon(&self) -> bool {
        self.options.role == Role::Agent && self.handshake.is_opening()
    }

    /// The peer sent an `initialize`: the params that its handler reads when it opens the connection; None when it is a
    /// method like any other.
    #[cold]
    pub(super) fn open<'a>(
        &mut self,
        params: Option<&'a str>,
    ) -> Result<Option<Cow<'a, str>>, Refusal> {
        if self.options.role == Role::Client {
            let refused = version::has_handshake(&self.options);
            return if refused { Err(Refusal::Direction) } else { Ok(None) };
        }
        let opening = version::read(self.options.version, params, self.options.lax)?;
        self.handshake.check(&self.options)?;
        self.handshake.begin();
        self.counters.lax_versions += u64::from(opening.lax);
        Ok(Some(opening.params))
    }

    /// Whether notifications of the peer are ignored.
    pub(super) fn ignores_notifications(&self) -> bool {
        !self.handshake.initialized() && version::has_handshake(&self.options)
    }

    /// Whether a request of this side may be sent.
    #[inline]
    pub(super) fn check_request(&self, method: &str) -> Result<(), Refusal> {
        if version::has_handshake(&self.options) { self.judge_request(method) } else { Ok(()) }
    }

    fn judge_request(&self, method: &str) -> Result<(), Refusal> {
        let client = self.options.role == Role::Client;
        if method == version::INITIALIZE {
            return if client {
                self.handshake.check(&self.options)
            } else {
                Err(Refusal::Direction)
            };
        }
        // While it repeats its handshake, a client has none that is certain to last.
        if self.handshake.initialized() && !(client && self.handshake.is_opening()) {
            return Ok(());
        }
        Err(Refusal::TooEarly { method: method.into() })
    }

    /// Whether a notification of this side may be sent.
    pub(super) fn check_notification(&self, method: &str) -> Result<(), Refusal> {
        let cancels = || self.handshake.is_opening() && method == super::CANCEL;
        if self.handshake.initialized() || !version::has_handshake(&self.options) || cancels() {
            return Ok(());
        }
        Err(Refusal::TooEarly { method: method.into() })
    }

    /// Whether a request of this side is an `initialize` that opens the connection.
    pub(super) fn opens(&self, method: &str) -> bool {
        self.options.role == Role::Client && method == version::INITIALIZE
    }

    /// A request of this side was queued.
    pub(super) fn sent(&mut self, opens: bool) {
        if opens {
            self.handshake.begin();
        } else if self.options.role == Role::Client {
            self.handshake.move_on();
        }
    }

    /// An `initialize` of this side was answered: what its caller is told.
    pub(super) fn opened<'a>(&mut self, outcome: Outcome<'a>) -> Outcome<'a> {
        let Outcome::Result(text) = outcome else {
            self.handshake.end(false);
            return outcome;
        };
        let verdict = version::judge(&self.options, text);
        self.handshake.end(verdict == Verdict::Ready);
        match verdict {
            Verdict::Other(selected) => Outcome::Mismatch { selected, text },
            // Whoever reads it finds out what is wrong with it.
            Verdict::Ready | Verdict::Unfit => outcome,
        }
    }
}
