//! Objects as plain Python data.
//!
//! Owns what `model_dump` and `model_dump_json` return, which is not what goes on the wire: every member unless asked
//! otherwise, by attribute name unless asked otherwise.

use acp_core::json::MAX_DEPTH;
use acp_core::schema::FaultKind;
use acp_core::schema::table::{Default, Flags, Type};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::classes::{self, Class};
use crate::unset::UnsetType;
use crate::{error, foreign, functions, model, source, text};

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
    /// The object stands where the plain form of a union's variant is declared, which has no discriminator.
    pub plain: bool,
    /// How many containers there are around.
    pub depth: usize,
}

/// What choices have for every item of a list.
const ALL: &str = "__all__";

type Choice<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// Whether a choice (a set of names, or a dict of names and deeper choices) names one of `keys` whole, and the deeper
/// choice. Items of a list go by two keys, their index from the start and from the end.
fn chosen<'py>(
    choice: Choice<'_, 'py>,
    keys: &[Bound<'py, PyAny>],
) -> PyResult<(bool, Option<Bound<'py, PyAny>>)> {
    let Some(choice) = choice else { return Ok((false, None)) };
    let Ok(dict) = choice.cast::<PyDict>() else {
        if choice.is_instance_of::<PyBool>() || choice.is_none() {
            return Err(PyTypeError::new_err("`include` and `exclude` have to be sets or dicts"));
        }
        for key in keys {
            if choice.contains(key)? {
                return Ok((true, None));
            }
        }
        return Ok((keys.len() > 1 && choice.contains(ALL)?, None));
    };
    let mut found = None;
    for key in keys {
        found = found.map_or_else(|| dict.get_item(key), |found| Ok(Some(found)))?;
    }
    if found.is_none() && keys.len() > 1 {
        found = dict.get_item(ALL)?;
    }
    Ok(match found {
        None => (false, None),
        // `True` and `...` name the member whole.
        Some(found) if found.cast::<PyBool>().is_ok_and(PyBoolMethods::is_true) => (true, None),
        Some(found) if found.is(found.py().Ellipsis()) => (true, None),
        Some(found) => (false, Some(found)),
    })
}

/// What is left of choices for one member.
struct Deeper<'py> {
    include: Option<Bound<'py, PyAny>>,
    exclude: Option<Bound<'py, PyAny>>,
}

/// The choices within a member; None when it is left out.
fn within<'py>(
    include: Choice<'_, 'py>,
    exclude: Choice<'_, 'py>,
    keys: &[Bound<'py, PyAny>],
) -> PyResult<Option<Deeper<'py>>> {
    let (whole, deeper_include) = chosen(include, keys)?;
    if include.is_some() && !whole && deeper_include.is_none() {
        return Ok(None);
    }
    let (whole, deeper_exclude) = chosen(exclude, keys)?;
    Ok((!whole).then_some(Deeper { include: deeper_include, exclude: deeper_exclude }))
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
        let inner = self.deeper()?;
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
            let plain = matches!(field.ty, Type::Record(record) if record.tag.is_none());
            let member = Self { plain, ..inner };
            member.member(&dict, name.as_any(), key.as_any(), &value, include, exclude)?;
        }
        for tag in class.tags.iter().filter(|_| !self.plain) {
            let name = tag.name.bind(py);
            let key = if self.by_alias { PyString::intern(py, tag.wire) } else { name.clone() };
            inner.member(
                &dict,
                name.as_any(),
                key.as_any(),
                tag.value.bind(py),
                include,
                exclude,
            )?;
        }
        if class.keeps_extra(object) {
            for (key, value) in model::state(object).extra(py).into_iter().flatten() {
                if self.exclude_none && value.is_none() {
                    continue;
                }
                inner.member(&dict, &key, &key, &value, include, exclude)?;
            }
        }
        Ok(dict)
    }

    fn member<'py>(
        self,
        dict: &Bound<'py, PyDict>,
        name: &Bound<'py, PyAny>,
        key: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
        include: Choice<'_, 'py>,
        exclude: Choice<'_, 'py>,
    ) -> PyResult<()> {
        match within(include, exclude, std::slice::from_ref(name))? {
            None => Ok(()),
            Some(deeper) => dict.set_item(
                key,
                self.value(value, deeper.include.as_ref(), deeper.exclude.as_ref())?,
            ),
        }
    }

    /// The same one container further in.
    fn deeper(self) -> PyResult<Self> {
        if self.depth == MAX_DEPTH {
            return Err(PyValueError::new_err("the value is nested too deeply, or holds itself"));
        }
        Ok(Self { depth: self.depth + 1, plain: false, ..self })
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
            || value.is_instance_of::<PyBool>()
        {
            return Ok(value.clone());
        }
        if let Some(class) = classes::of(value) {
            return Ok(self.object(value, class, include, exclude)?.into_any());
        }
        if let Ok(list) = value.cast::<PyList>() {
            return Ok(self.items(py, list.iter(), include, exclude)?.into_any());
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            let items = self.items(py, tuple.iter(), include, exclude)?;
            return Ok(if self.json { items.into_any() } else { items.to_tuple().into_any() });
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            let inner = self.deeper()?;
            let dumped = PyDict::new(py);
            for (name, value) in dict.iter() {
                let key = if self.json { json_key(&name)? } else { name.clone() };
                // None within open values is part of the value, not an absent member.
                inner.member(&dumped, &name, &key, &value, include, exclude)?;
            }
            return Ok(dumped.into_any());
        }
        if self.json { self.json_form(value) } else { Ok(value.clone()) }
    }

    fn items<'py>(
        self,
        py: Python<'py>,
        items: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
        include: Choice<'_, 'py>,
        exclude: Choice<'_, 'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        let inner = self.deeper()?;
        let length = items.len();
        let mut dumped = Vec::with_capacity(length);
        for (index, item) in items.enumerate() {
            let deeper = if include.is_none() && exclude.is_none() {
                Some(Deeper { include: None, exclude: None })
            } else {
                let (index, length) = (index.cast_signed(), length.cast_signed());
                let (first, last) = (index.into_pyobject(py)?, (index - length).into_pyobject(py)?);
                within(include, exclude, &[first.into_any(), last.into_any()])?
            };
            if let Some(deeper) = deeper {
                dumped.push(inner.value(
                    &item,
                    deeper.include.as_ref(),
                    deeper.exclude.as_ref(),
                )?);
            }
        }
        PyList::new(py, dumped)
    }

    /// What JSON has for a scalar, or for a value that is no plain data.
    fn json_form<'py>(self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        if let Ok(number) = value.cast::<PyFloat>() {
            let finite = number.value().is_finite();
            return if finite { Ok(value.clone()) } else { Err(unwritable(py)) };
        }
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(text::exact(text)?.into_any());
        }
        if value.is_instance_of::<PyInt>() {
            return py.get_type::<PyInt>().call1((value,));
        }
        match foreign::plain(value, self.by_alias)? {
            Some(plain) => self.deeper()?.value(&plain, None, None),
            None => Err(unwritable(py)),
        }
    }
}

fn unwritable(py: Python<'_>) -> PyErr {
    error::broken(py, "the value to dump", FaultKind::Unwritable)
}

/// The member name that JSON has for a key of a dict.
fn json_key<'py>(key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(text) = key.cast::<PyString>() {
        return Ok(text::exact(text)?.into_any());
    }
    source::key_text(key)?.map_or_else(
        || Err(unwritable(key.py())),
        |text| Ok(text.into_pyobject(key.py())?.into_any()),
    )
}

fn is_default(class: &Class, field: usize, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    // A member that has to be there has no default, though it may be made of one.
    let flags = class.record.fields[field].flags;
    if flags.has(Flags::REQUIRED) && !flags.has(Flags::TOLERATED) {
        return Ok(false);
    }
    match class.record.fields[field].default {
        Default::Absent | Default::Implied(_) | Default::ImpliedList | Default::ImpliedMap => {
            Ok(value.is_none())
        }
        _ => class.default(value.py(), field)?.eq(value),
    }
}

/// JSON text of plain data, indented by so many spaces when asked for.
pub fn text(value: &Bound<'_, PyAny>, indent: Option<usize>) -> PyResult<String> {
    let compact = functions::encode(value, 1, None, true)?;
    functions::with_text(compact.as_any(), "JSON", |compact| {
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
