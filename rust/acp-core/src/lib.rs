//! Protocol core of the Agent Client Protocol.
//!
//! Bytes go in, events come out, and bytes to send are taken: the core owns all protocol state of a connection and
//! does no I/O, reads no clock, starts no thread and logs nothing. Layers, each knowing only those before it:
//! [`json`] (lexical), [`schema`] (tables, decoding, encoding), then frames, messages and the connection.
#![forbid(unsafe_code)]

mod batch;
pub mod connection;
pub mod event;
pub mod frame;
pub mod id;
pub mod json;
mod member;
mod message;
pub mod options;
pub mod schema;
pub mod version;
