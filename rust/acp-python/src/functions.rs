//! Functions of the module that belong to no class, and the calls into decoder and encoder that all others share.

use acp_core::json::{Scanner, SyntaxKind};
use acp_core::schema::decode::{Decoder, Failure, Options};
use acp_core::schema::encode::{Encoder, Position};
use acp_core::schema::generated::SCHEMA_HASH;
use acp_core::schema::table::{Extra, Flags, Int, Type};
use acp_core::schema::{FaultKind, Json, Loc, Skipped, encode as encoding};
use pyo3::exceptions::{PyImportError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyString, PyType};

use crate::build::PyBuild;
use crate::source::PySource;
use crate::{classes, error, plain};

/// Makes `classes` the objects of protocol `version`, or those of its former releases, in the order of the records.
#[pyfunction]
#[pyo3(signature = (version, schema_hash, classes, *, former = false))]
#[expect(clippy::needless_pass_by_value, reason = "a binding gets lists by value")]
pub fn register(
    py: Python<'_>,
    version: u16,
    schema_hash: &str,
    classes: Vec<Bound<'_, PyType>>,
    former: bool,
) -> PyResult<()> {
    if schema_hash != SCHEMA_HASH {
        return Err(PyImportError::new_err(
            "the schema modules and the extension were built from different facts; build both again",
        ));
    }
    classes::register(py, version, &classes, former)
}

/// What is known about a field.
type FieldFacts<'py> = (Bound<'py, PyString>, &'static str, bool, Bound<'py, PyAny>);

/// The rules that a value can break: code and sentence of each.
#[pyfunction]
pub fn fault_kinds() -> Vec<(&'static str, &'static str)> {
    FaultKind::ALL.iter().map(|kind| (kind.code(), kind.message())).collect()
}

/// Name, wire name, whether it is required, and the default of each field of a class, constant discriminators last.
#[pyfunction]
pub fn field_facts<'py>(cls: &Bound<'py, PyType>) -> PyResult<Vec<FieldFacts<'py>>> {
    let py = cls.py();
    let class = classes::above(cls).ok_or_else(crate::model::no_class)?;
    let mut facts = Vec::new();
    for (index, field) in class.record.fields.iter().enumerate() {
        let required = field.flags.has(Flags::REQUIRED) && !field.flags.has(Flags::TOLERATED);
        let default = if required { py.None().into_bound(py) } else { class.default(py, index)? };
        facts.push((class.name(py, index).clone(), field.wire, required, default));
    }
    for tag in &class.tags {
        let value = tag.value.bind(py).clone().into_any();
        facts.push((tag.name.bind(py).clone(), tag.wire, false, value));
    }
    Ok(facts)
}

/// Least and greatest value, whether what does not fit reads as absent, and whether bad items are dropped.
type FieldRules = (Option<i64>, Option<u64>, bool, bool);

/// The rules of each field of a class, which its annotation does not tell, and whether members without a field are kept.
#[pyfunction]
pub fn field_rules(cls: &Bound<'_, PyType>) -> PyResult<(Vec<FieldRules>, bool)> {
    let class = classes::above(cls).ok_or_else(crate::model::no_class)?;
    let rules = class.record.fields.iter().map(|field| {
        let (least, greatest) = match field.ty {
            Type::Int(Int::U16) => (Some(0), Some(u64::from(u16::MAX))),
            Type::Int(Int::U32 | Int::U64) => (Some(0), None),
            Type::Int(Int::NonZeroU16) => (Some(1), Some(u64::from(u16::MAX))),
            Type::Int(Int::NonZeroU32) => (Some(1), None),
            _ => (None, None),
        };
        let (lenient, skips) = (Flags::LENIENT, Flags::SKIP_ITEMS);
        (least, greatest, field.flags.has(lenient), field.flags.has(skips))
    });
    Ok((rules.collect(), !matches!(class.record.extra, Extra::Drop)))
}

/// Decodes JSON text as a schema type.
#[pyfunction]
#[pyo3(signature = (version, type_name, data, *, lax = false, unknown_values = "raise"))]
pub fn decode<'py>(
    py: Python<'py>,
    version: u16,
    type_name: &str,
    data: &Bound<'py, PyAny>,
    lax: bool,
    unknown_values: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let ty = type_of(version, type_name)?;
    let options = Options { lax, keep_unknown: keeps(unknown_values)? };
    with_text(data, type_name, |text| {
        check(py, type_name, text)?;
        decode_checked(py, version, type_name, &ty, text, options).map(|(made, _)| made)
    })
}

/// What `unknown_values` says.
pub fn keeps(unknown_values: &str) -> PyResult<bool> {
    match unknown_values {
        "raise" => Ok(false),
        "keep" => Ok(true),
        _ => Err(PyValueError::new_err("unknown_values has to be 'raise' or 'keep'")),
    }
}

/// The compact JSON text of a schema object or of plain JSON data.
#[pyfunction]
#[pyo3(signature = (value, *, version = 1, type_name = None, keep_defaults = true))]
pub fn encode<'py>(
    value: &Bound<'py, PyAny>,
    version: u16,
    type_name: Option<&str>,
    keep_defaults: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut out = Vec::new();
    let ty = type_name.map(|name| type_of(version, name)).transpose()?;
    let peer = type_name.map(|_| version);
    let (ty, position) = match ty {
        None => (Type::Any, Position::Free),
        Some(Type::Union(union)) => (Type::Union(union), Position::In(union)),
        Some(ty) => (ty, Position::Bare),
    };
    write_as(&ty, value, position, peer, keep_defaults, &mut out)?;
    Ok(PyBytes::new(value.py(), &out))
}

fn type_of(version: u16, name: &str) -> PyResult<Type> {
    let found = classes::schema(version)?.find(name);
    found.ok_or_else(|| {
        PyTypeError::new_err(format!("protocol version {version} has no type {name}"))
    })
}

/// Calls `then` with the text of a str, bytes or bytearray.
pub fn with_text<R>(
    data: &Bound<'_, PyAny>,
    title: &str,
    then: impl FnOnce(&str) -> PyResult<R>,
) -> PyResult<R> {
    let py = data.py();
    if let Ok(text) = data.cast::<PyString>() {
        // A lone surrogate is no character of a text; only its escape is.
        return then(text.to_str().map_err(|_| error::broken(py, title, FaultKind::Syntax))?);
    }
    let parse = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => then(text),
        Err(_) => Err(error::broken(py, title, FaultKind::Syntax)),
    };
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return parse(bytes.as_bytes());
    }
    if let Ok(bytes) = data.cast::<PyByteArray>() {
        return parse(&bytes.to_vec());
    }
    Err(PyTypeError::new_err("JSON text has to be str, bytes or bytearray"))
}

/// Fails unless `text` is one JSON value.
pub fn check(py: Python<'_>, title: &str, text: &str) -> PyResult<()> {
    Scanner::check(text).map_err(|fault| {
        let kind =
            if fault.kind == SyntaxKind::Depth { FaultKind::Depth } else { FaultKind::Syntax };
        error::broken(py, title, kind)
    })
}

/// Decodes checked JSON text as a `ty`, and tells what was left out.
pub fn decode_checked<'py>(
    py: Python<'py>,
    version: u16,
    title: &str,
    ty: &Type,
    text: &str,
    options: Options,
) -> PyResult<(Bound<'py, PyAny>, Skipped)> {
    if let Type::Any = ty {
        return Ok((plain::loads(py, text)?, Skipped::default()));
    }
    let input = Json::new(text);
    let root = input.root();
    let mut decoder = Decoder::new(input, PyBuild::new(py, version)?, options);
    match decoder.decode(ty, root) {
        Ok(made) => Ok((made, decoder.skipped())),
        Err(Failure::Failed(error)) => Err(error),
        Err(Failure::Invalid(faults)) => Err(error::invalid(py, title, faults)),
    }
}

/// Appends the JSON text of `value` as a `ty`, for a peer of a version; on failure, what was appended is cut off.
pub fn write(
    ty: &Type,
    value: &Bound<'_, PyAny>,
    position: Position,
    peer: Option<u16>,
    out: &mut Vec<u8>,
) -> PyResult<()> {
    write_as(ty, value, position, peer, true, out)
}

fn write_as(
    ty: &Type,
    value: &Bound<'_, PyAny>,
    position: Position,
    peer: Option<u16>,
    keep_defaults: bool,
    out: &mut Vec<u8>,
) -> PyResult<()> {
    let before = out.len();
    let source = PySource { py: value.py(), version: peer };
    Encoder::new(&source, out, keep_defaults).value(ty, value, position).map_err(|failure| {
        out.truncate(before);
        match failure {
            encoding::Failure::Failed(error) => error,
            encoding::Failure::Foreign(path) => foreign(&path),
            encoding::Failure::Invalid(fault) => match fault.kind {
                FaultKind::Depth => {
                    PyValueError::new_err("the value is nested too deeply to be written as JSON")
                }
                _ => error::invalid(value.py(), "the value to write", vec![fault]),
            },
        }
    })
}

/// The exception for an object that the peer's version has no form for; `path` is innermost step first.
#[cold]
pub fn foreign(path: &[Loc]) -> PyErr {
    let steps: Vec<String> = path.iter().rev().map(ToString::to_string).collect();
    let place = if steps.is_empty() { "the value to write".to_owned() } else { steps.join(".") };
    PyTypeError::new_err(format!(
        "{place} is an object of another protocol version, which has no form here"
    ))
}
