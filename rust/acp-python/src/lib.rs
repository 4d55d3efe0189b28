//! The extension module `acp._core`: the protocol core for Python.
//!
//! Owns the crossing between Python objects and the core, and nothing of the protocol. Objects of the schema are plain
//! Python classes with slots; the decoder fills the slots by their offsets. The interpreter lock guards all state here.

mod build;
mod cache;
mod classes;
mod connection;
mod copies;
mod dump;
mod error;
mod events;
mod filling;
mod foreign;
mod input;
mod keywords;
mod lifecycle;
mod model;
mod plain;
mod source;
mod steps;
mod text;
mod twins;
mod unset;
mod versions;

use pyo3::prelude::*;

/// Functions of the module that are not methods of a class.
mod functions;

/// The Rust core: protocol state of one connection, and the typed objects of the schema.
#[pymodule(gil_used = true)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SCHEMA_HASH", acp_core::schema::generated::SCHEMA_HASH)?;
    module.add("UNSET", unset::unset(module.py())?)?;
    module.add_class::<unset::UnsetType>()?;
    module.add_class::<model::Model>()?;
    lifecycle::install_new(&module.py().get_type::<model::Model>());
    module.add_class::<error::ValidationError>()?;
    module.add("InternalError", module.py().get_type::<error::InternalError>())?;
    let local = module.py().get_type::<error::LocalProtocolError>();
    local.setattr("code", error::LOCAL_CODE)?;
    module.add("LocalProtocolError", local)?;
    module.add_class::<connection::Connection>()?;
    module.add_class::<events::RequestReceived>()?;
    module.add_class::<events::NotificationReceived>()?;
    module.add_class::<events::ResponseReceived>()?;
    module.add_class::<events::ResponseRejected>()?;
    module.add_class::<events::RequestCancelled>()?;
    module.add_class::<events::FrameRejected>()?;
    module.add_class::<steps::HandlerRun>()?;
    module.add_class::<steps::Steps>()?;
    module.add_function(wrap_pyfunction!(functions::register, module)?)?;
    module.add_function(wrap_pyfunction!(functions::fault_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(functions::field_facts, module)?)?;
    module.add_function(wrap_pyfunction!(functions::field_rules, module)?)?;
    module.add_function(wrap_pyfunction!(filling::validated, module)?)?;
    module.add_function(wrap_pyfunction!(twins::pydantic_in_use, module)?)?;
    module.add_function(wrap_pyfunction!(functions::decode, module)?)?;
    module.add_function(wrap_pyfunction!(functions::encode, module)?)?;
    module.add_function(wrap_pyfunction!(versions::requested_version, module)?)?;
    module.add_function(wrap_pyfunction!(versions::choose_version, module)?)?;
    module.add_function(wrap_pyfunction!(versions::initialize_params, module)?)?;
    module.add_function(wrap_pyfunction!(versions::unsupported_protocol_version, module)?)?;
    module.add_function(wrap_pyfunction!(copies::restore, module)?)?;
    Ok(())
}
