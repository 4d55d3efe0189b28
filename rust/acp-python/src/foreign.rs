//! Values that are neither plain data nor objects of the schema, as the plain data that stands for them.
//!
//! Owns which types of Python's library and of other libraries can be written, and how. What is returned may need the
//! same again.

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyFrozenSet, PyIterator, PyList, PySet, PyType};

/// Types that are written as their own text, by module and name.
const BY_TEXT: &[(&str, &str)] =
    &[("decimal", "Decimal"), ("ipaddress", "_IPAddressBase"), ("uuid", "UUID")];

/// Addresses, which are strings to whoever has no type for them.
const ADDRESSES: &[(&str, &str)] = &[
    ("pydantic.networks", "_BaseMultiHostUrl"),
    ("pydantic.networks", "_BaseUrl"),
    ("pydantic_core._pydantic_core", "Url"),
];

/// Whether `value` is an address of pydantic.
pub fn is_address(value: &Bound<'_, PyAny>) -> bool {
    value.get_type().mro().iter().any(|base| {
        let Ok(base) = base.cast_into::<PyType>() else { return false };
        let (Ok(module), Ok(name)) = (base.module(), base.name()) else { return false };
        let (Ok(module), Ok(name)) = (module.to_str(), name.to_str()) else { return false };
        ADDRESSES.contains(&(module, name))
    })
}

/// The plain data that stands for `value`; None when nothing does. Objects that can dump themselves do so by wire name
/// when `by_alias`.
pub fn plain<'py>(
    value: &Bound<'py, PyAny>,
    by_alias: bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    if value.is_instance_of::<PyType>() {
        return Ok(None);
    }
    if value.is_instance_of::<PySet>()
        || value.is_instance_of::<PyFrozenSet>()
        || value.is_instance_of::<PyIterator>()
    {
        return Ok(Some(py.get_type::<PyList>().call1((value,))?));
    }
    if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
        return Ok(value.call_method1("decode", ("utf-8",)).ok());
    }
    let ty = value.get_type();
    for base in ty.mro() {
        let base = base.cast_into::<PyType>()?;
        let (Ok(module), Ok(name)) = (base.module(), base.name()) else { continue };
        match (module.to_str()?, name.to_str()?) {
            ("enum", "Enum") => return value.getattr("value").map(Some),
            ("datetime", "date" | "time") => return moment(value).map(Some),
            ("datetime", "timedelta") => return duration(value).map(Some),
            ("collections", "deque") => {
                return Ok(Some(py.get_type::<PyList>().call1((value,))?));
            }
            found if BY_TEXT.contains(&found) || ADDRESSES.contains(&found) => {
                return Ok(Some(value.str()?.into_any()));
            }
            _ => {}
        }
    }
    if ty.hasattr("__fspath__")? {
        return value.call_method0("__fspath__").map(Some);
    }
    if ty.hasattr("model_dump")? {
        let options = PyDict::new(py);
        options.set_item("mode", "json")?;
        options.set_item("by_alias", by_alias)?;
        return value.call_method("model_dump", (), Some(&options)).map(Some);
    }
    if ty.hasattr("__dataclass_fields__")? {
        let dict = PyDict::new(py);
        for name in value.getattr("__dataclass_fields__")?.try_iter()? {
            let name = name?.cast_into()?;
            dict.set_item(&name, value.getattr(&name)?)?;
        }
        return Ok(Some(dict.into_any()));
    }
    Ok(None)
}

/// ISO 8601; universal time shows as `Z`.
fn moment<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let text: String = value.call_method0("isoformat")?.extract()?;
    let text = text.strip_suffix("+00:00").map(|local| format!("{local}Z")).unwrap_or(text);
    Ok(text.into_pyobject(value.py())?.into_any())
}

/// ISO 8601: days, hours, minutes and seconds, those that are zero left out.
fn duration<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let part = |name: &str| value.getattr(name)?.extract::<i64>();
    let total = (part("days")? * 86_400 + part("seconds")?) * 1_000_000 + part("microseconds")?;
    let (seconds, micros) = (total.unsigned_abs() / 1_000_000, total.unsigned_abs() % 1_000_000);
    let unit = |count: u64, unit: char| match count {
        0 => String::new(),
        _ => format!("{count}{unit}"),
    };
    let last = if micros > 0 {
        let fraction = format!("{micros:06}");
        format!("{}.{}S", seconds % 60, fraction.trim_end_matches('0'))
    } else {
        unit(seconds % 60, 'S')
    };
    let time = unit(seconds / 3600 % 24, 'H') + &unit(seconds / 60 % 60, 'M') + &last;
    let days = unit(seconds / 86_400, 'D');
    let sign = if total < 0 { "-" } else { "" };
    let text = match (days.is_empty(), time.is_empty()) {
        (true, true) => "PT0S".to_owned(),
        (_, true) => format!("{sign}P{days}"),
        (_, false) => format!("{sign}P{days}T{time}"),
    };
    Ok(text.into_pyobject(value.py())?.into_any())
}
