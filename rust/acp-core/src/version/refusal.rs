//! What the rules of initialization say to a message that they do not let pass.
//!
//! Owns the closed list of their errors: code, message and data of each. Values out of messages are in none of them, save
//! for versions and the method.

use std::borrow::Cow;

use super::other_version;
use crate::json::Writer;
use crate::schema::{Fault, fault};

const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const UNSUPPORTED_VERSION: i32 = -32022;
const MCP_UNAVAILABLE: i32 = -33001;

/// Why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `initialize` does not ask for a version that could be read.
    BadVersion,
    /// The params of `initialize` do not fit their type.
    Unfit(Vec<Fault>),
    /// `initialize` asks for a version below all that are served.
    Unsupported {
        /// The version that was asked for.
        requested: u16,
        /// The versions that are served.
        supported: Vec<u16>,
    },
    /// It came, or was to be sent, before initialization.
    TooEarly {
        /// The method.
        method: Box<str>,
    },
    /// `initialize` while another one is unanswered.
    InProgress,
    /// `initialize` after another request.
    TooLate,
    /// `initialize` from an agent, or to a client.
    Direction,
    /// The peer has chosen another version than the one this side needs.
    OtherVersion {
        /// The version of this side.
        required: u16,
        /// The version of the peer.
        selected: u16,
    },
    /// The id of a request is `null` where that is none.
    NullId,
    /// Nobody serves the method.
    NotFound {
        /// The method.
        method: Box<str>,
    },
    /// What is to be cancelled is not there, as far as anybody here knows.
    NotCancellable {
        /// What it is, in words.
        what: &'static str,
        /// The member that names it, and the JSON text of the name, a string; None when it is no string.
        id: Option<(&'static str, Box<str>)>,
    },
    /// Nobody serves the MCP server that a message is for.
    McpUnavailable,
}

impl Refusal {
    /// The code of the error.
    #[must_use]
    pub fn code(&self) -> i32 {
        match self {
            Self::BadVersion | Self::Unfit(_) | Self::NotCancellable { .. } => INVALID_PARAMS,
            Self::Unsupported { .. } => UNSUPPORTED_VERSION,
            Self::TooEarly { .. }
            | Self::InProgress
            | Self::TooLate
            | Self::Direction
            | Self::OtherVersion { .. }
            | Self::NullId => INVALID_REQUEST,
            Self::NotFound { .. } => METHOD_NOT_FOUND,
            Self::McpUnavailable => MCP_UNAVAILABLE,
        }
    }

    /// The message of the error.
    #[must_use]
    pub fn message(&self) -> Cow<'static, str> {
        let fixed = match self {
            Self::NotCancellable { what, .. } => {
                return format!("the {what} is unknown or not cancellable").into();
            }
            Self::Unsupported { .. } => "Unsupported protocol version",
            Self::McpUnavailable => "MCP server registration unavailable",
            Self::NotFound { .. } => "Method not found",
            Self::BadVersion | Self::Unfit(_) => "Invalid params",
            _ => "Invalid request",
        };
        fixed.into()
    }

    /// The sentence that tells what is wrong, for those that have one.
    #[must_use]
    pub fn sentence(&self) -> Option<Cow<'static, str>> {
        let fixed = match self {
            Self::BadVersion => "initialize.protocolVersion must be a valid ACP protocol version",
            Self::TooEarly { method } => {
                let text =
                    format!("ACP initialization must complete before `{method}` can be used");
                return Some(text.into());
            }
            Self::InProgress => "ACP initialization is already in progress on this connection",
            Self::TooLate => {
                "ACP initialization cannot be repeated after any other request; \
                 reconnect to initialize again"
            }
            Self::Direction => {
                "ACP clients send `initialize` requests and ACP agents respond to them"
            }
            Self::OtherVersion { required, selected } => {
                return Some(other_version(*required, *selected).into());
            }
            Self::NullId => "ACP protocol v2 request ids must be a string or an integer, not null",
            _ => return None,
        };
        Some(fixed.into())
    }

    /// The data of the error, as JSON text.
    #[must_use]
    pub fn data(&self) -> Option<String> {
        if let Some(sentence) = self.sentence() {
            return Some(string(&sentence));
        }
        Some(match self {
            Self::Unfit(faults) => fault::as_json(faults),
            Self::Unsupported { requested, supported } => {
                let supported: Vec<String> = supported.iter().map(u16::to_string).collect();
                format!(r#"{{"requested":{requested},"supported":[{}]}}"#, supported.join(","))
            }
            Self::NotFound { method } => format!(r#"{{"method":{}}}"#, string(method)),
            Self::NotCancellable { id: Some((name, id)), .. } => format!(r#"{{"{name}":{id}}}"#),
            _ => return None,
        })
    }
}

fn string(text: &str) -> String {
    let mut out = Vec::new();
    Writer::new(&mut out).string(text);
    String::from_utf8(out).unwrap_or_default()
}
