//! The schema: what values on the wire mean, and how they are written.
//!
//! [`table`] is the form of the generated facts, [`decode`] reads any [`input::Input`] by them into anything that a
//! [`input::Build`] makes, [`encode`] writes any [`encode::Source`]. [`value`] is the plain Rust form of both, for tests
//! and tools. Nothing here knows a method's meaning, a connection, or Python.

pub mod decode;
pub mod encode;
pub mod fault;
pub mod generated;
pub mod input;
mod json_input;
mod naming;
mod notes;
mod open;
mod place;
mod scalar;
pub mod table;
mod union;
pub mod value;

pub use fault::{Fault, FaultKind, Loc};
pub use json_input::{Json, digits, whole};
pub use notes::Skipped;
pub use place::Place;
