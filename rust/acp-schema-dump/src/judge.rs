//! What the official crate makes of a piece of JSON.
//!
//! Owns the verdicts: `OK`, a tab and what the crate writes back, or `ERR`, a tab and a reason. The JSON is read through
//! a parsed value, as the official dispatch reads it; where reading it straight from the text gives something else, that
//! is appended as `TEXT:` and its verdict.
//!
//! A type is a name of the crate; or `@req:SIDE:METHOD`, `@res:SIDE:METHOD`, `@note:SIDE:METHOD` for what one side
//! handles; or `rpc:Request`, `rpc:Response`, `rpc:Notification`, `rpc:Batch` for envelopes around anything.

use std::collections::HashMap;
use std::fmt::Display;

use agent_client_protocol_schema::{ProtocolVersion, rpc, v1, v2};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::types::{each, for_each_type};

type Verdict = Result<String, String>;

/// A type that can be judged.
#[derive(Clone, Copy)]
pub struct Kind {
    /// `v1` or `v2`.
    pub version: &'static str,
    /// Name of the type.
    pub name: &'static str,
    text: fn(&str) -> Verdict,
    value: fn(&Value) -> Verdict,
}

fn written<T: Serialize, E: Display>(read: Result<T, E>) -> Verdict {
    let value = read.map_err(|error| error.to_string())?;
    serde_json::to_string(&value).map_err(|error| format!("not written: {error}"))
}

fn text<T: DeserializeOwned + Serialize>(json: &str) -> Verdict {
    written(serde_json::from_str::<T>(json))
}

fn value<T: DeserializeOwned + Serialize>(json: &Value) -> Verdict {
    written(serde_json::from_value::<T>(json.clone()))
}

/// Every type that can be judged.
pub fn kinds() -> Vec<Kind> {
    let mut kinds = Vec::new();
    macro_rules! put {
        ($version:expr, $name:expr, $type:ty) => {
            kinds.push(Kind {
                version: $version,
                name: $name,
                text: text::<$type>,
                value: value::<$type>,
            });
        };
    }
    macro_rules! add {
        ($version:ident, $name:ident) => {
            put!(stringify!($version), stringify!($name), $version::$name);
        };
    }
    for_each_type!(add);
    put!("v1", "ProtocolVersion", ProtocolVersion);
    put!("v2", "ProtocolVersion", ProtocolVersion);
    put!("v1", "rpc:Request", rpc::JsonRpcMessage<v1::Request<Value>>);
    put!("v1", "rpc:Response", rpc::JsonRpcMessage<v1::Response<Value>>);
    put!("v1", "rpc:Notification", rpc::JsonRpcMessage<rpc::Notification<Value>>);
    put!("v1", "rpc:Batch", rpc::JsonRpcBatch<v1::Request<Value>>);
    put!("v2", "rpc:Request", rpc::JsonRpcMessage<v2::Request<Value>>);
    put!("v2", "rpc:Response", rpc::JsonRpcMessage<v2::Response<Value>>);
    put!("v2", "rpc:Notification", rpc::JsonRpcMessage<rpc::Notification<Value>>);
    kinds
}

fn dispatch(version: &str, path: &str, json: Value) -> Verdict {
    let mut parts = path.splitn(3, ':');
    let (Some(kind), Some(side), Some(method)) = (parts.next(), parts.next(), parts.next()) else {
        return Err("no such type".into());
    };
    macro_rules! of {
        ($version:ident) => {
            match (kind, side) {
                ("req", "agent") => {
                    written($version::ClientRequest::from_method_and_params(method, &json))
                }
                ("res", "agent") => {
                    written($version::AgentResponse::from_method_and_result(method, json))
                }
                ("note", "agent") => {
                    written($version::ClientNotification::from_method_and_params(method, &json))
                }
                ("req", "client") => {
                    written($version::AgentRequest::from_method_and_params(method, &json))
                }
                ("res", "client") => {
                    written($version::ClientResponse::from_method_and_result(method, json))
                }
                ("note", "client") => {
                    written($version::AgentNotification::from_method_and_params(method, &json))
                }
                ("note", "protocol") => written(
                    $version::ProtocolLevelNotification::from_method_and_params(method, &json),
                ),
                _ => Err("no such type".into()),
            }
        };
    }
    match version {
        "v1" => of!(v1),
        "v2" => of!(v2),
        _ => Err("no such version".into()),
    }
}

fn shown(verdict: &Verdict) -> String {
    match verdict {
        Ok(json) => format!("OK\t{json}"),
        Err(reason) => format!("ERR\t{}", reason.replace(['\n', '\t'], " ")),
    }
}

/// The types by version and name.
pub struct Judge {
    kinds: HashMap<(&'static str, &'static str), Kind>,
}

impl Judge {
    /// Knows every type.
    pub fn new() -> Self {
        Self { kinds: kinds().into_iter().map(|kind| ((kind.version, kind.name), kind)).collect() }
    }

    /// The verdict on one line, `VERSION TYPE JSON`.
    pub fn line(&self, line: &str) -> String {
        let mut parts = line.splitn(3, ' ');
        let (Some(version), Some(name), Some(json)) = (parts.next(), parts.next(), parts.next())
        else {
            return "ERR\tnot VERSION TYPE JSON".into();
        };
        let parsed = serde_json::from_str::<Value>(json).map_err(|error| error.to_string());
        if let Some(path) = name.strip_prefix('@') {
            return shown(&parsed.and_then(|parsed| dispatch(version, path, parsed)));
        }
        let Some(kind) = self.kinds.get(&(version, name)) else {
            return "ERR\tno such type".into();
        };
        let by_value = parsed.and_then(|parsed| (kind.value)(&parsed));
        let by_text = (kind.text)(json);
        let same = match (&by_value, &by_text) {
            (Ok(one), Ok(other)) => one == other,
            (one, other) => one.is_err() && other.is_err(),
        };
        if same {
            shown(&by_value)
        } else {
            format!("{}\tTEXT:{}", shown(&by_value), shown(&by_text))
        }
    }
}
