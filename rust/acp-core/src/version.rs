//! What depends on the protocol version.
//!
//! Owns every comparison of versions: who has to initialize and when, which version is chosen, how `initialize` is read,
//! sent and answered. What one version alone says of its params is in `v1` and `v2`, what a refusal looks like in
//! [`Refusal`], what is said to requests that nobody serves in `unhandled`. Knows nothing of ids, replies or the order
//! of messages.

mod object;
mod refusal;
mod unhandled;
mod v1;
mod v2;

use std::borrow::Cow;

use crate::json::Number;
use crate::message::{for_each_member, number};
use crate::options::{Options, Role};
use crate::schema::decode;
use crate::schema::generated::{V1, V2};
use crate::schema::table::{Schema, Side, Type};
use crate::schema::{Fault, FaultKind, value};

pub use refusal::Refusal;
pub(crate) use unhandled::unhandled;

/// The method that opens a connection.
pub(crate) const INITIALIZE: &str = "initialize";

/// The member that tells a version.
const VERSION: &str = "protocolVersion";

/// The tables of a version; None for one that is not known here.
fn schema(version: u16) -> Option<&'static Schema> {
    match version {
        1 => Some(&V1),
        2 => Some(&V2),
        _ => None,
    }
}

/// Whether `null` is the id of a request. Without the guard the version is not settled yet.
pub(crate) fn allows_null_id(options: &Options) -> bool {
    !options.guard || options.version < 2
}

/// Whether `initialize` of this side is sent, and its answer judged, by the rules of the version. The compatibility
/// profile of version 1 sends and takes what its users wrote.
pub(crate) fn sends_initialize(options: &Options) -> bool {
    options.guard && options.role == Role::Client && !(options.lax && options.version < 2)
}

/// Whether nothing but the handshake may pass, in either direction, before that is complete; then there is one at a
/// time, which the client begins.
pub(crate) fn has_handshake(options: &Options) -> bool {
    options.guard && options.version >= 2
}

/// Whether requests of the peer are refused before initialization.
pub(crate) fn refuses_early_requests(options: &Options) -> bool {
    let required = options.require_initialize && options.role == Role::Agent;
    options.guard && (required || options.version >= 2)
}

/// The version that params of `initialize` ask for; None when it cannot be read. `params` is checked JSON text.
#[must_use]
pub fn requested(params: &str) -> Option<u16> {
    asked(params).and_then(exact)
}

/// Which of the versions `configured` serves a client that asks for `requested`: the highest one that is not above it.
/// Version 1 serves those that ask for less, too. None when there is no such version.
#[must_use]
pub fn choose(requested: u16, configured: &[u16]) -> Option<u16> {
    let fitting = configured.iter().copied().filter(|version| *version <= requested.max(1));
    fitting.max()
}

/// Params of `initialize` in the form that a handler of `version` reads, whatever version they ask for; they stay as
/// they are where they ask for this one. `params` is checked JSON text.
///
/// # Errors
/// When they ask for none, for one below that `version` does not stand in for, or do not fit it.
pub fn initialize_params(version: u16, params: &str) -> Result<Cow<'_, str>, Refusal> {
    read(version, Some(params), false).map(|opening| opening.params)
}

/// What a handler of `initialize` is given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Opening<'a> {
    pub params: Cow<'a, str>,
    /// Only the lax reading accepts the version that was asked for.
    pub lax: bool,
}

/// Reads the params of an `initialize` of the peer.
pub(crate) fn read(version: u16, params: Option<&str>, lax: bool) -> Result<Opening<'_>, Refusal> {
    let text = params.ok_or(Refusal::BadVersion)?;
    let asked = asked(text).ok_or(Refusal::BadVersion)?;
    if version < 2 {
        return v1::read(text, asked, lax);
    }
    let requested = exact(asked).ok_or(Refusal::BadVersion)?;
    if requested < version {
        return Err(Refusal::Unsupported { requested, supported: vec![version] });
    }
    let params = if requested == version {
        fits(version, Part::Params, text).map_err(Refusal::Unfit)?;
        Cow::Borrowed(text)
    } else {
        Cow::Owned(v2::from_later(text).map_err(Refusal::Unfit)?)
    };
    Ok(Opening { params, lax: false })
}

/// The result of a handler of `initialize` as it is sent: it names the version, and fits it.
pub(crate) fn answer(version: u16, result: &str) -> Result<String, Vec<Fault>> {
    let text = object::with_version(version, result)
        .ok_or_else(|| vec![Fault { path: Vec::new(), kind: FaultKind::Object }])?;
    if version >= 2 {
        fits(version, Part::Result, &text)?;
    }
    Ok(text)
}

/// The params of an `initialize` of this side as they are sent: they name the version, and fit it.
pub(crate) fn ask(version: u16, params: Option<&str>) -> Result<String, Refusal> {
    let text = object::with_version(version, params.unwrap_or("{}")).ok_or(Refusal::BadVersion)?;
    fits(version, Part::Params, &text).map_err(Refusal::Unfit)?;
    Ok(text)
}

/// What the answer to an `initialize` of this side says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The connection is initialized.
    Ready,
    /// The peer has chosen this other version.
    Other(u16),
    /// It does not fit its type.
    Unfit,
}

/// Judges the result of an `initialize` of this side.
pub(crate) fn judge(options: &Options, result: &str) -> Verdict {
    if !sends_initialize(options) {
        return Verdict::Ready;
    }
    match requested(result) {
        Some(selected) if selected != options.version => Verdict::Other(selected),
        Some(_) if fits(options.version, Part::Result, result).is_ok() => Verdict::Ready,
        _ => Verdict::Unfit,
    }
}

/// What is said of a peer that has chosen another version than the one required.
fn other_version(required: u16, selected: u16) -> String {
    if schema(selected).is_some() {
        format!(
            "required ACP protocol version {required} but peer negotiated {selected}; \
             use a matching implementation for the negotiated protocol version"
        )
    } else {
        format!(
            "unsupported ACP protocol version {selected}; \
             this endpoint only supports ACP protocol version {required}"
        )
    }
}

/// A half of `initialize`.
#[derive(Clone, Copy)]
enum Part {
    Params,
    Result,
}

/// Checks one half of `initialize` by the tables of a version.
fn fits(version: u16, part: Part, text: &str) -> Result<(), Vec<Fault>> {
    let method = schema(version).and_then(|schema| schema.method(Side::Agent, true, INITIALIZE));
    let Some(method) = method else { return Ok(()) };
    let ty: &Type = match part {
        Part::Params => &method.params,
        Part::Result => &method.result,
    };
    value::decode(ty, text, decode::Options::default()).map(drop)
}

/// What stands for the version in a checked text, the last one where there are several.
fn asked(text: &str) -> Option<&str> {
    let mut asked = None;
    for_each_member(text, |name, value| {
        if name.is(VERSION) {
            asked = Some(value);
        }
    })?;
    asked
}

/// The version that a value is.
fn exact(value: &str) -> Option<u16> {
    match number(value)? {
        Number::Int(number) => u16::try_from(number).ok(),
        _ => None,
    }
}
