//! How version 2 reads `initialize` of a later version.
//!
//! Owns what is kept of it: what fits. Params of version 2 itself are checked by the tables, and stay as they are.

use super::object::{ObjectText, members};
use crate::schema::decode::Options;
use crate::schema::generated::V2;
use crate::schema::table::Type;
use crate::schema::value::{decode, encode};
use crate::schema::{Fault, FaultKind};

const THIS: u16 = 2;

/// Stands for a client that says nothing of itself which can be read.
const UNKNOWN: &str = r#"{"name":"unknown","version":"unknown"}"#;

/// Params of a later version, by the tables of version 2: what these do not know, and what does not fit, is left out.
pub(super) fn from_later(text: &str) -> Result<String, Vec<Fault>> {
    let [info, capabilities, meta] = members(text, ["info", "capabilities", "_meta"]);
    let info = info.filter(|info| written("Implementation", info).is_ok());
    let mut object = ObjectText::new();
    object.member(super::VERSION, &THIS.to_string());
    object.member("info", info.unwrap_or(UNKNOWN));
    object.object_member("capabilities", capabilities);
    object.object_member("_meta", meta);
    written("InitializeRequest", &object.finish())
}

/// A text as the tables write what they read in it.
fn written(name: &str, text: &str) -> Result<String, Vec<Fault>> {
    let ty: Type = V2.find(name).unwrap_or(Type::Any);
    let value = decode(&ty, text, Options::default())?;
    let bytes = encode(&ty, &value, true).map_err(|fault| vec![fault])?;
    String::from_utf8(bytes)
        .map_err(|_| vec![Fault { path: Vec::new(), kind: FaultKind::Unwritable }])
}
