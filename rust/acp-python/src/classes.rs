//! The Python classes of the schema, and where their slots are.
//!
//! Owns the registry that `acp._core.register` fills: once per protocol version, and once more with the classes of
//! version 1 that no method has, when one of them is asked for. A class that is registered lives for ever. Everything
//! that writes a slot by its offset relies on the checks made here.

use std::borrow::Cow;
use std::sync::OnceLock;

use acp_core::schema::Place;
use acp_core::schema::generated::{V1, V2};
use acp_core::schema::table::{Default, Extra, Flags, Record, Schema, Type};
use pyo3::exceptions::{PyImportError, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyType};

use crate::keywords::Plain;
use crate::model::Model;
use crate::unset::unset;

/// A registered class.
pub struct Class {
    /// What the class is.
    pub record: &'static Record,
    /// The classes of its version.
    version: u16,
    ty: *mut ffi::PyTypeObject,
    /// Per field: byte offset of the slot in an instance.
    offsets: Box<[usize]>,
    /// Per field: the object to put where the member is absent; null where a fresh one has to be made.
    defaults: Box<[*mut ffi::PyObject]>,
    /// Attribute names, interned.
    names: Box<[Py<PyString>]>,
    /// Fields whose values can hold other objects, one bit each.
    pub containers: u64,
    /// Fields whose default is an object of its own, one bit each.
    pub made: u64,
    /// Constant discriminators, that of the outer union first.
    pub tags: Vec<Tag>,
    /// Where the record stands among the unions.
    pub place: Place,
    /// How objects of the class are made of keywords without more ado, where they can be.
    pub plain: Option<Plain>,
    /// What objects show where pydantic is in use; see [`crate::twins`].
    pub twin: PyOnceLock<Py<PyAny>>,
}

// SAFETY: the pointers are to objects that the registry owns for ever and never changes; they are used under the
// interpreter lock only, which every user of this module holds.
unsafe impl Send for Class {}
// SAFETY: as above.
unsafe impl Sync for Class {}

/// A constant discriminator of a class.
pub struct Tag {
    /// Attribute name.
    pub name: Py<PyString>,
    /// Member name.
    pub wire: &'static str,
    /// The value.
    pub value: Py<PyString>,
}

/// The classes of one protocol version, or those that only former releases have.
struct Classes {
    classes: Vec<Class>,
    /// Places in `classes` by the address of the type: open addressing, at most half full.
    by_type: Box<[(usize, usize)]>,
}

/// Those of version 1, of version 2, and of former releases of version 1.
static PARTS: [OnceLock<Classes>; 3] = [OnceLock::new(), OnceLock::new(), OnceLock::new()];
const FORMER: usize = 2;

/// The tables of a protocol version.
pub fn schema(version: u16) -> PyResult<&'static Schema> {
    match version {
        1 => Ok(&V1),
        2 => Ok(&V2),
        _ => Err(PyTypeError::new_err("the protocol versions are 1 and 2")),
    }
}

fn slot(address: usize, length: usize) -> usize {
    // Types are aligned to 16 bytes or more; the multiplication spreads what is left.
    (address >> 4).wrapping_mul(0x9E37_79B1) >> 16 & (length - 1)
}

impl Classes {
    fn find(&self, ty: *mut ffi::PyTypeObject) -> Option<&Class> {
        let mut at = slot(ty as usize, self.by_type.len());
        loop {
            match self.by_type[at] {
                (0, _) => return None,
                (address, index) if address == ty as usize => return self.classes.get(index),
                _ => at = (at + 1) & (self.by_type.len() - 1),
            }
        }
    }
}

/// The class whose type is exactly `ty`.
#[inline]
fn exact(ty: *mut ffi::PyTypeObject) -> Option<&'static Class> {
    PARTS.iter().filter_map(OnceLock::get).find_map(|classes| classes.find(ty))
}

/// The registered class of an object that is of exactly that class.
#[inline]
pub fn exactly(object: &Bound<'_, PyAny>) -> Option<&'static Class> {
    exact(object.get_type_ptr())
}

/// The registered class of an object: its own or, for an object of a user's subclass, the nearest one above.
#[inline]
pub fn of(object: &Bound<'_, PyAny>) -> Option<&'static Class> {
    exact(object.get_type_ptr()).or_else(|| above(&object.get_type()))
}

/// Lets go of the members of an object that ends.
///
/// # Safety
/// `object` is of the registered class `ty`, or of a user's class derived from one.
pub unsafe fn end_members(
    py: Python<'_>,
    object: *mut ffi::PyObject,
    mut ty: *mut ffi::PyTypeObject,
) {
    let mut class = exact(ty);
    while class.is_none() && !ty.is_null() {
        // SAFETY: a live type; the chain of bases ends in null.
        ty = unsafe { (*ty).tp_base };
        class = exact(ty);
    }
    for offset in class.iter().flat_map(|class| &class.offsets) {
        // SAFETY: see `Class::place`; a slot owns one reference to what it holds, or is null.
        drop(unsafe {
            let slot = object.byte_add(*offset).cast::<*mut ffi::PyObject>();
            Bound::from_owned_ptr_or_opt(py, slot.replace(std::ptr::null_mut()))
        });
    }
}

/// The registered class nearest to a type.
pub fn above(ty: &Bound<'_, PyType>) -> Option<&'static Class> {
    // Most objects are strings, numbers or lists: one check spares them the walk.
    if !ty.is_subclass_of::<Model>().unwrap_or(false) {
        return None;
    }
    ty.mro().iter().find_map(|ty| exact(ty.as_ptr().cast()))
}

/// The registered class of a record.
pub fn class(py: Python<'_>, version: u16, record: &Record) -> PyResult<&'static Class> {
    all(version)?.get(record.index).map_or_else(|| former(py, record), Ok)
}

/// The class of a record that only former releases have; it is loaded first where none was asked for before.
#[cold]
pub fn former(py: Python<'_>, record: &Record) -> PyResult<&'static Class> {
    let part = &PARTS[FORMER];
    if part.get().is_none() {
        py.import("acp._schema.v1.former")?;
    }
    let index = record.index.checked_sub(V1.former);
    let found = part.get().zip(index).and_then(|(part, index)| part.classes.get(index));
    found.filter(|class| std::ptr::eq(class.record, record)).ok_or_else(strangers)
}

fn strangers() -> PyErr {
    PyImportError::new_err("the schema classes and the extension do not belong together")
}

/// The registered classes of a version, each at its record's index; without those of former releases.
pub fn all(version: u16) -> PyResult<&'static [Class]> {
    let part = usize::from(version).wrapping_sub(1);
    let classes = PARTS[..FORMER].get(part).and_then(OnceLock::get);
    classes.map(|classes| classes.classes.as_slice()).ok_or_else(|| {
        PyImportError::new_err(format!(
            "the classes of protocol version {version} are not loaded; import acp.v{version}.schema"
        ))
    })
}

impl Class {
    /// The protocol version of the class.
    pub fn version(&self) -> u16 {
        self.version
    }

    /// The class itself.
    pub fn ty<'py>(&self, py: Python<'py>) -> Bound<'py, PyType> {
        // SAFETY: `ty` is a type object that the registry keeps alive.
        unsafe { Bound::from_borrowed_ptr(py, self.ty.cast()).cast_into_unchecked() }
    }

    /// Whether `ty` is this class, not one derived from it.
    pub fn is(&self, ty: &Bound<'_, PyType>) -> bool {
        ty.as_ptr() == self.ty.cast()
    }

    /// Whether `object` is of this class, not of one derived from it.
    pub fn made(&self, object: &Bound<'_, PyAny>) -> bool {
        object.get_type_ptr() == self.ty
    }

    /// The attribute name of a field.
    pub fn name<'py>(&self, py: Python<'py>, field: usize) -> &Bound<'py, PyString> {
        self.names[field].bind(py)
    }

    /// A new object of exactly this class, with all slots empty.
    #[inline]
    pub fn allocate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: registration checked that the type allocates generically, so this is what `object.__new__` does. The
        // memory is zero, which is an empty slot for every field and a valid `Model` (checked there, too).
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_GenericAlloc(self.ty, 0)) }
    }

    #[inline]
    fn place(&self, object: &Bound<'_, PyAny>, field: usize) -> *mut *mut ffi::PyObject {
        // SAFETY: callers pass an object of this class or of one derived from it; registration checked that the offset
        // is that of an object slot within the class's instances, and derived classes only add to the end.
        unsafe { object.as_ptr().cast::<u8>().add(self.offsets[field]).cast() }
    }

    /// Puts a value into a slot. `object` has to be of this class.
    #[inline]
    pub fn put(&self, object: &Bound<'_, PyAny>, field: usize, value: Bound<'_, PyAny>) {
        let place = self.place(object, field);
        // SAFETY: see `place`; the slot owns one reference to what it holds, and null is allowed. The old value is let go
        // of last, since that may run other code.
        unsafe {
            let old = place.replace(value.into_ptr());
            ffi::Py_XDECREF(old);
        }
    }

    /// Empties a slot. `object` has to be of this class.
    pub fn clear(&self, object: &Bound<'_, PyAny>, field: usize) {
        let place = self.place(object, field);
        // SAFETY: as in `put`.
        unsafe { ffi::Py_XDECREF(place.replace(std::ptr::null_mut())) };
    }

    /// The value of a slot. `object` has to be of this class.
    #[inline]
    pub fn get<'py>(&self, object: &Bound<'py, PyAny>, field: usize) -> Option<Bound<'py, PyAny>> {
        let place = self.place(object, field);
        // SAFETY: see `place`; a slot holds a valid reference or null.
        unsafe { Bound::from_borrowed_ptr_or_opt(object.py(), *place) }
    }

    /// Puts the default into a slot whose member is absent. `object` has to be of this class.
    #[inline]
    pub fn put_default(&self, object: &Bound<'_, PyAny>, field: usize) -> PyResult<()> {
        let value = self.defaults[field];
        let value = if value.is_null() {
            self.fresh_default(object.py(), field)?
        } else {
            // SAFETY: the registry keeps the default alive.
            unsafe { Bound::from_borrowed_ptr(object.py(), value) }
        };
        self.put(object, field, value);
        Ok(())
    }

    /// The default of a field.
    pub fn default<'py>(&self, py: Python<'py>, field: usize) -> PyResult<Bound<'py, PyAny>> {
        let value = self.defaults[field];
        if value.is_null() {
            return self.fresh_default(py, field);
        }
        // SAFETY: the registry keeps the default alive.
        Ok(unsafe { Bound::from_borrowed_ptr(py, value) })
    }

    fn fresh_default<'py>(&self, py: Python<'py>, field: usize) -> PyResult<Bound<'py, PyAny>> {
        match (self.record.fields[field].default, self.record.fields[field].ty) {
            (Default::EmptyList, _) => Ok(pyo3::types::PyList::empty(py).into_any()),
            (Default::EmptyRecord, Type::Record(record)) => {
                let class = class(py, self.version(), record)?;
                let object = class.allocate(py)?;
                for field in 0..record.fields.len() {
                    class.put_default(&object, field)?;
                }
                Ok(object)
            }
            _ => Ok(pyo3::types::PyDict::new(py).into_any()),
        }
    }
}

/// Checks `classes` and makes them the objects of a protocol version, or of its former releases.
pub fn register(
    py: Python<'_>,
    version: u16,
    classes: &[Bound<'_, PyType>],
    former: bool,
) -> PyResult<()> {
    let schema = schema(version)?;
    let (current, older) = schema.records.split_at(schema.former);
    let records = if former { older } else { current };
    if classes.len() != records.len() || records.is_empty() {
        return Err(strangers());
    }
    let mut made = Vec::with_capacity(classes.len());
    for (record, ty) in records.iter().zip(classes) {
        made.push(check(py, version, record, ty)?);
    }
    let length = (made.len() * 2).next_power_of_two();
    let mut by_type = vec![(0, 0); length].into_boxed_slice();
    for (index, class) in made.iter().enumerate() {
        let mut at = slot(class.ty as usize, length);
        while by_type[at].0 != 0 {
            at = (at + 1) & (length - 1);
        }
        by_type[at] = (class.ty as usize, index);
    }
    let part = if former { FORMER } else { usize::from(version) - 1 };
    PARTS[part].set(Classes { classes: made, by_type }).map_err(|_| {
        PyImportError::new_err(
            "the schema classes of this version are registered already; acp cannot be loaded twice in a process, nor in a subinterpreter",
        )
    })
}

fn containers(record: &Record) -> u64 {
    if !matches!(record.extra, Extra::Drop) {
        return u64::MAX;
    }
    let fields = record.fields.iter().enumerate();
    fields.filter(|(_, field)| !is_atom(&field.ty)).fold(0, |bits, (at, _)| bits | 1 << at)
}

fn is_atom(ty: &Type) -> bool {
    match ty {
        Type::Null
        | Type::Bool
        | Type::Str
        | Type::Text { .. }
        | Type::Int(_)
        | Type::Float
        | Type::Enum(_) => true,
        Type::Shape(shape) => shape.members.iter().all(is_atom),
        _ => false,
    }
}

fn check(
    py: Python<'_>,
    version: u16,
    record: &'static Record,
    ty: &Bound<'_, PyType>,
) -> PyResult<Class> {
    let wrong =
        |what: &str| PyImportError::new_err(format!("schema class {}: {what}", record.name));
    if ty.name()?.to_str()? != record.name || !ty.is_subclass_of::<Model>()? {
        return Err(wrong("not the class of this place"));
    }
    let type_pointer = ty.as_type_ptr();
    // SAFETY: a live type object; the fields that are read are set by the time a class exists.
    let (alloc, size, item) = unsafe {
        ((*type_pointer).tp_alloc, (*type_pointer).tp_basicsize, (*type_pointer).tp_itemsize)
    };
    let generic: ffi::allocfunc = ffi::PyType_GenericAlloc;
    if item != 0 || alloc.is_none_or(|alloc| !std::ptr::fn_addr_eq(alloc, generic)) {
        return Err(wrong("does not allocate generically"));
    }
    let place = schema(version)?.place(record);
    let mut class = Class {
        plain: Plain::new(record, &place),
        record,
        version,
        ty: type_pointer,
        offsets: vec![0; record.fields.len()].into_boxed_slice(),
        defaults: vec![std::ptr::null_mut(); record.fields.len()].into_boxed_slice(),
        names: Box::default(),
        containers: containers(record),
        made: 0,
        tags: Vec::new(),
        place,
        twin: PyOnceLock::new(),
    };
    let mut names = Vec::with_capacity(record.fields.len());
    for (index, field) in record.fields.iter().enumerate() {
        let own = PyString::intern(py, field.name);
        let slot = ty.getattr_opt(&own)?.and_then(|member| {
            let attribute = member
                .getattr(intern!(py, "__name__"))
                .is_ok_and(|name| name.is(&own) || name.eq(&own).is_ok_and(|same| same));
            Some((slot_offset(&member, ty, size).filter(|_| attribute)?, member))
        });
        let (offset, member) =
            slot.ok_or_else(|| wrong("a field is no object slot of its name"))?;
        class.offsets[index] = offset;
        class.defaults[index] = shared_default(py, version, field)?;
        class.made |= u64::from(class.defaults[index].is_null()) << index;
        names.push(own.unbind());
        for alias in std::iter::once(field.wire).chain(field.alias) {
            // Attribute access by wire name costs nothing when it is the same slot.
            if alias != field.name && !alias.starts_with('_') {
                let alias = PyString::intern(py, alias);
                if !ty.hasattr(&alias)? {
                    ty.setattr(&alias, &member)?;
                }
            }
        }
    }
    class.names = names.into_boxed_slice();
    let outer = class.place.outer.map(|(wire, value)| (wire, attribute(wire), value));
    for (wire, name, value) in outer
        .into_iter()
        .chain(record.tag.map(|tag| (tag.wire, Cow::Borrowed(tag.name), tag.value)))
    {
        let value = PyString::intern(py, value);
        if !ty.getattr_opt(&*name)?.map_or(Ok(false), |constant| constant.eq(&value))? {
            return Err(wrong("a discriminator is not the one of this class"));
        }
        if wire != name {
            ty.setattr(wire, &value)?;
        }
        class.tags.push(Tag {
            name: PyString::intern(py, &name).unbind(),
            wire,
            value: value.unbind(),
        });
    }
    // SAFETY: just checked; the class statement of a generated module makes neither.
    unsafe { crate::lifecycle::install(type_pointer) };
    // The registry keeps the type for ever.
    std::mem::forget(ty.clone());
    Ok(class)
}

/// The attribute of a member name.
pub fn attribute(wire: &str) -> Cow<'_, str> {
    if !wire.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Borrowed(wire);
    }
    let mut name = String::with_capacity(wire.len() + 2);
    for ch in wire.chars() {
        if ch.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(ch.to_ascii_lowercase());
    }
    Cow::Owned(name)
}

/// Whether `name` is the attribute of a member name.
pub fn is_attribute(name: &str, wire: &str) -> bool {
    let mut rest = name.bytes();
    let fits = wire.bytes().enumerate().all(|(at, byte)| {
        let begins = byte.is_ascii_uppercase() && at > 0;
        (!begins || rest.next() == Some(b'_')) && rest.next() == Some(byte.to_ascii_lowercase())
    });
    fits && rest.next().is_none()
}

/// The offset of the slot that `member` describes, when it is a writable object slot within instances of `ty`.
fn slot_offset(member: &Bound<'_, PyAny>, ty: &Bound<'_, PyType>, size: isize) -> Option<usize> {
    // SAFETY: the exact type check makes this a `PyMemberDescrObject`, whose definition lives as long as its type.
    unsafe {
        if member.get_type_ptr() != &raw mut ffi::PyMemberDescr_Type {
            return None;
        }
        let descriptor = member.as_ptr().cast::<ffi::PyMemberDescrObject>();
        let owner = (*descriptor).d_common.d_type;
        // Before Python 3.11 the bindings give the definition another type; the layout is the same.
        let definition = (*descriptor).d_member.cast::<ffi::PyMemberDef>();
        let offset = (*definition).offset;
        let fits = (*definition).type_code == ffi::Py_T_OBJECT_EX
            && (*definition).flags & ffi::Py_READONLY == 0
            && ffi::PyType_IsSubtype(ty.as_type_ptr(), owner) == 1
            && offset > 0
            && offset.cast_unsigned() % align_of::<*mut ffi::PyObject>() == 0
            && offset + size_of::<*mut ffi::PyObject>().cast_signed() <= size;
        fits.then_some(offset.cast_unsigned())
    }
}

/// A default that all objects can share, owned for ever; null when each needs its own.
fn shared_default(
    py: Python<'_>,
    version: u16,
    field: &acp_core::schema::table::Field,
) -> PyResult<*mut ffi::PyObject> {
    let unset_state =
        field.flags.has(Flags::TOLERATED) || (version > 1 && field.flags.has(Flags::THREE_STATE));
    Ok(match field.default {
        Default::Absent if unset_state => unset(py)?.clone().into_any().into_ptr(),
        Default::Absent | Default::Implied(_) | Default::ImpliedList | Default::ImpliedMap => {
            py.None().into_ptr()
        }
        Default::Bool(value) => value.into_pyobject(py)?.to_owned().into_any().into_ptr(),
        Default::Text(text) => PyString::intern(py, text).into_any().into_ptr(),
        Default::EmptyRecord | Default::EmptyList | Default::EmptyMap => std::ptr::null_mut(),
    })
}
