//! What is said to a request that nobody serves.
//!
//! Owns the methods for which that is not "method not found": an agent of version 2 cannot refuse to know how a tool call
//! or a terminal is cancelled, only to have that one; and an MCP server may be gone.

use super::object::members;
use super::{Refusal, has_handshake};
use crate::message::string;
use crate::options::{Options, Role};

/// The answer to a request of `method` that has no handler. `params` is checked JSON text.
pub(crate) fn unhandled(options: &Options, method: &str, params: Option<&str>) -> Refusal {
    let (what, name) = match (options.role, method) {
        (Role::Agent, "tool_call/cancel") if has_handshake(options) => ("tool call", "toolCallId"),
        (Role::Agent, "terminal/cancel") if has_handshake(options) => ("terminal", "terminalId"),
        (Role::Agent, "mcp/message") if has_handshake(options) => return Refusal::McpUnavailable,
        (Role::Client, "mcp/message") if options.guard => return Refusal::McpUnavailable,
        _ => return Refusal::NotFound { method: method.into() },
    };
    let [id] = members(params.unwrap_or("null"), [name]);
    let id = id.filter(|id| string(id).is_some()).map(|id| (name, id.into()));
    Refusal::NotCancellable { what, id }
}
