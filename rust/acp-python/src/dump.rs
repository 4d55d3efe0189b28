//! Objects as plain Python data.
//!
//! Owns what `model_dump` and `model_dump_json` return, which is not what goes on the wire: every member unless asked
//! otherwise, by attribute name unless asked otherwise.

use acp_core::schema::table::Default;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::classes::{self, Class};
use crate::unset::UnsetType;
use crate::{functions, model};

/// Options of a dump.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "the options that programs dump with")]
pub struct Dump {
    /// Values become what JSON has.
    pub json: bool,
    /// Members go by their wire names.
    pub by_alias: bool,
    /// Members that were not set are left out.
    pub exclude_unset: bool,
    /// Members that equal their defaults are left out.
    pub exclude_defaults: bool,
    /// Members that are None are left out.
    pub exclude_none: bool,
}

type Choice<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// Whether a choice (a set of names, or a dict of names and deeper choices) names `key` whole, and the deeper choice.
fn chosen<'py>(
    choice: Choice<'_, 'py>,
    key: &Bound<'py, PyAny>,
) -> PyResult<(bool, Option<Bound<'py, PyAny>>)> {
    let Some(choice) = choice else { return Ok((false, None)) };
    let Ok(choice) = choice.cast::<PyDict>() else { return Ok((choice.contains(key)?, None)) };
    let found = match choice.get_item(key)? {
        None if key.is_instance_of::<PyInt>() => choice.get_item("__all__")?,
        found => found,
    };
    Ok(match found {
        None => (false, None),
        // `True` and `...` name the member whole.
        Some(found) if found.cast::<PyBool>().is_ok_and(|whole| whole.is_true()) => (true, None),
        Some(found) if found.is(found.py().Ellipsis()) => (true, None),
        Some(found) => (false, Some(found)),
    })
}

impl Dump {
    /// The dict of an object of the schema.
    pub fn object<'py>(
        self,
        object: &Bound<'py, PyAny>,
        class: &'static Class,
        include: Choice<'_, 'py>,
        exclude: Choice<'_, 'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = object.py();
        let dict = PyDict::new(py);
        let set = model::state(object).set();
        for (index, field) in class.record.fields.iter().enumerate() {
            if self.exclude_unset && set >> index & 1 == 0 {
                continue;
            }
            let Some(value) = class.get(object, index) else { continue };
            if value.is_instance_of::<UnsetType>() || (self.exclude_none && value.is_none()) {
                continue;
            }
            if self.exclude_defaults && is_default(class, index, &value)? {
                continue;
            }
            let name = class.name(py, index);
            let key = if self.by_alias { PyString::intern(py, field.wire) } else { name.clone() };
            self.member(&dict, name.as_any(), &key, &value, include, exclude)?;
        }
        for (name, value) in &class.tags {
            let name = name.bind(py);
            let wire =
                if name.to_str()? == "session_update" { "sessionUpdate" } else { name.to_str()? };
            let key = if self.by_alias { PyString::intern(py, wire) } else { name.clone() };
            self.member(&dict, name.as_any(), &key, value.bind(py), include, exclude)?;
        }
        if class.keeps_extra() {
            for (key, value) in model::state(object).extra(py).into_iter().flatten() {
                if self.exclude_none && value.is_none() {
                    continue;
                }
                self.member(&dict, &key, key.cast()?, &value, include, exclude)?;
            }
        }
        Ok(dict)
    }

    fn member<'py>(
        self,
        dict: &Bound<'py, PyDict>,
        name: &Bound<'py, PyAny>,
        key: &Bound<'py, PyString>,
        value: &Bound<'py, PyAny>,
        include: Choice<'_, 'py>,
        exclude: Choice<'_, 'py>,
    ) -> PyResult<()> {
        let (whole, deeper_include) = chosen(include, name)?;
        if include.is_some() && !whole && deeper_include.is_none() {
            return Ok(());
        }
        let (whole, deeper_exclude) = chosen(exclude, name)?;
        if whole {
            return Ok(());
        }
        dict.set_item(key, self.value(value, deeper_include.as_ref(), deeper_exclude.as_ref())?)
    }

    fn value<'py>(
        self,
        value: &Bound<'py, PyAny>,
        include: Choice<'_, 'py>,
        exclude: Choice<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        if value.is_none()
            || value.is_exact_instance_of::<PyString>()
            || value.is_exact_instance_of::<PyInt>()
        {
            return Ok(value.clone());
        }
        if let Some(class) = classes::of(value) {
            return Ok(self.object(value, class, include, exclude)?.into_any());
        }
        if let Ok(list) = value.cast::<PyList>() {
            let dumped = PyList::empty(py);
            self.items(list.iter(), &dumped, include, exclude)?;
            return Ok(dumped.into_any());
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            let dumped = PyList::empty(py);
            self.items(tuple.iter(), &dumped, include, exclude)?;
            return if self.json {
                Ok(dumped.into_any())
            } else {
                Ok(dumped.to_tuple().into_any())
            };
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            let dumped = PyDict::new(py);
            for (key, value) in dict.iter() {
                // None within open values is part of the value, not an absent member.
                dumped.set_item(key, self.value(&value, None, None)?)?;
            }
            return Ok(dumped.into_any());
        }
        if self.json && !value.is_instance_of::<PyBool>() && !value.is_instance_of::<PyFloat>() {
            return json_form(value);
        }
        Ok(value.clone())
    }

    fn items<'py>(
        self,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
        dumped: &Bound<'py, PyList>,
        include: Choice<'_, 'py>,
        exclude: Choice<'_, 'py>,
    ) -> PyResult<()> {
        for (index, item) in items.enumerate() {
            let key = index.into_pyobject(dumped.py())?.into_any();
            let (whole, deeper_include) = chosen(include, &key)?;
            if include.is_some() && !whole && deeper_include.is_none() {
                continue;
            }
            let (whole, deeper_exclude) = chosen(exclude, &key)?;
            if !whole {
                dumped.append(self.value(
                    &item,
                    deeper_include.as_ref(),
                    deeper_exclude.as_ref(),
                )?)?;
            }
        }
        Ok(())
    }
}

fn is_default(class: &Class, field: usize, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    match class.record.fields[field].default {
        Default::Absent | Default::Implied(_) | Default::ImpliedList | Default::ImpliedMap => {
            Ok(value.is_none())
        }
        _ => class.default(value.py(), field)?.eq(value),
    }
}

/// What JSON has for a value that is no plain data.
fn json_form<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let text = functions::encode(value, 1, None)?;
    functions::with_text(text.as_any(), |text| crate::plain::loads(py, text))
}

/// JSON text of plain data, indented by so many spaces when asked for.
pub fn text(value: &Bound<'_, PyAny>, indent: Option<usize>) -> PyResult<String> {
    let compact = functions::encode(value, 1, None)?;
    functions::with_text(compact.as_any(), |compact| {
        indent.map_or_else(|| Ok(compact.to_owned()), |indent| indented(compact, indent))
    })
}

fn indented(compact: &str, indent: usize) -> PyResult<String> {
    let spaces = |depth: usize| "\n".chars().chain(std::iter::repeat_n(' ', depth * indent));
    let (mut out, mut depth, mut in_string, mut escaped) = (String::new(), 0usize, false, false);
    let mut chars = compact.chars().peekable();
    while let Some(ch) = chars.next() {
        if in_string {
            out.push(ch);
            in_string = escaped || ch != '"';
            escaped = !escaped && ch == '\\';
            continue;
        }
        match ch {
            '{' | '[' => {
                out.push(ch);
                if matches!(chars.peek(), Some('}' | ']')) {
                    out.extend(chars.next());
                } else {
                    depth += 1;
                    out.extend(spaces(depth));
                }
            }
            '}' | ']' => {
                depth = depth.checked_sub(1).ok_or_else(|| PyTypeError::new_err("no JSON text"))?;
                out.extend(spaces(depth));
                out.push(ch);
            }
            ',' => {
                out.push(ch);
                out.extend(spaces(depth));
            }
            ':' => out.push_str(": "),
            _ => {
                in_string = ch == '"';
                out.push(ch);
            }
        }
    }
    Ok(out)
}
