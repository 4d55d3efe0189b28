//! How schema objects begin and end.
//!
//! Owns the type slots of construction and deallocation that are set past the usual ways. The usual ways copy the
//! keywords twice on the way in; on the way out they look up much that is known here: which slots there are, and that
//! nothing finalizes. Users' subclasses are CPython's own, and come here for the part that a registered class has in them.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::classes;
use crate::error::InternalError;
use crate::filling;
use crate::model;

/// Objects that end within the end of another; those nested deeper are put off, or long chains would use up the stack.
const NESTED: usize = 100;

/// How many objects are ending now, one within the other. The interpreter lock makes each change of it whole, and plain
/// loads and stores are far cheaper than atomic sums.
static ENDING: AtomicUsize = AtomicUsize::new(0);

struct PutOff(UnsafeCell<Vec<*mut ffi::PyObject>>);

// SAFETY: touched under the interpreter lock only, and never across anything that may let go of it.
unsafe impl Sync for PutOff {}

static PUT_OFF: PutOff = PutOff(UnsafeCell::new(Vec::new()));

/// Has objects of `Model` and of all classes derived from it later begin without a look at the arguments, which are
/// for the constructor.
pub fn install_new(model: &Bound<'_, PyType>) {
    // SAFETY: a live type object that no class is derived from yet; the interpreter lock is held. All-zero memory, which
    // is what generic allocation gives, is a valid `Model`.
    unsafe { (*model.as_type_ptr()).tp_new = Some(begin) };
}

/// Has objects of `ty` constructed and ended here.
///
/// # Safety
/// `ty` is a registered class: made by a `class` statement, with `Model` as its root, with neither a constructor nor a
/// finalizer of its own.
pub unsafe fn install(ty: *mut ffi::PyTypeObject) {
    // SAFETY: a live type object, which nobody else changes meanwhile: the interpreter lock is held.
    unsafe {
        (*ty).tp_init = Some(construct);
        (*ty).tp_dealloc = Some(end);
    }
}

unsafe extern "C" fn begin(
    ty: *mut ffi::PyTypeObject,
    _arguments: *mut ffi::PyObject,
    _keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: CPython calls this with a class that is ready to be instantiated.
    unsafe { ffi::PyType_GenericAlloc(ty, 0) }
}

unsafe extern "C" fn construct(
    object: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> c_int {
    // A panic must not cross into CPython. Being attached counts: without it, references that are let go of on the way
    // would only be put on a list.
    let done = catch_unwind(|| {
        Python::attach(|py| {
            // SAFETY: CPython calls this under the interpreter lock with an object, a tuple, and a dict or null.
            let (object, arguments, keywords) = unsafe {
                (
                    Bound::from_borrowed_ptr(py, object),
                    Bound::from_borrowed_ptr(py, arguments),
                    Bound::from_borrowed_ptr_or_opt(py, keywords),
                )
            };
            let constructed = filling::construct(&object, &arguments, keywords);
            constructed.map_err(|error| error.restore(py)).is_ok()
        })
    });
    match done {
        Ok(true) => 0,
        Ok(false) => -1,
        Err(_) => {
            Python::attach(|py| InternalError::new_err("construction failed").restore(py));
            -1
        }
    }
}

/// Takes an object that holds no other off the collector's list: it can be part of no cycle, and each that is not
/// looked at makes every collection cheaper.
#[inline]
pub fn untrack(object: &Bound<'_, PyAny>) {
    // SAFETY: an object of a registered class, all of which the collector knows.
    unsafe { ffi::PyObject_GC_UnTrack(object.as_ptr().cast()) };
}

/// Puts an object back on the list, which from now on may hold others.
pub fn track(object: &Bound<'_, PyAny>) {
    // SAFETY: as above; an object that is on the list is left alone.
    unsafe {
        if ffi::PyObject_GC_IsTracked(object.as_ptr()) == 0 {
            ffi::PyObject_GC_Track(object.as_ptr().cast());
        }
    }
}

/// Ends an object of a registered class, or the part of an object that such a class has in one of a user's subclass.
unsafe extern "C" fn end(object: *mut ffi::PyObject) {
    // SAFETY: an object that ends; the collector must not come upon one without references.
    unsafe { ffi::PyObject_GC_UnTrack(object.cast()) };
    if ENDING.load(Ordering::Relaxed) > NESTED {
        // SAFETY: see `PutOff`.
        unsafe { (*PUT_OFF.0.get()).push(object) };
        return;
    }
    count(1);
    // SAFETY: the contract of `end_now` is that of this function.
    unsafe { end_now(object) };
    if ENDING.load(Ordering::Relaxed) == 1 {
        // SAFETY: see `PutOff`; the reference is gone before the object ends. What was put off is still to be ended.
        while let Some(object) = unsafe { (*PUT_OFF.0.get()).pop() } {
            // SAFETY: as above.
            unsafe { end_now(object) };
        }
    }
    count(-1);
}

fn count(step: isize) {
    ENDING.store(ENDING.load(Ordering::Relaxed).wrapping_add_signed(step), Ordering::Relaxed);
}

/// # Safety
/// CPython calls this under the interpreter lock, as it would call `subtype_dealloc`, with an object whose last
/// reference is gone and that the collector does not know any more.
unsafe fn end_now(object: *mut ffi::PyObject) {
    // SAFETY: these are the steps of `subtype_dealloc` for a class without finalizer and `__dict__`: weak references,
    // members, memory, the reference to the type. For a user's subclass it has seen to the rest, and leaves these to
    // the base.
    unsafe {
        let py = Python::assume_attached();
        let ty = ffi::Py_TYPE(object);
        let weak = (*ty).tp_weaklistoffset;
        if weak > 0 && !(*object.byte_offset(weak).cast::<*mut ffi::PyObject>()).is_null() {
            ffi::PyObject_ClearWeakRefs(object);
        }
        classes::end_members(py, object, ty);
        model::end(object);
        if let Some(free) = (*ty).tp_free {
            free(object.cast());
        }
        ffi::Py_DECREF(ty.cast());
    }
}
