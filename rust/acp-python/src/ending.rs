//! The end of schema objects: what happens when the last reference to one goes.
//!
//! Owns the deallocation of registered classes. CPython's own, for classes made by a `class` statement, looks up much
//! that is known here: which slots there are, and that nothing finalizes. It stays in charge of what users' subclasses
//! add.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;

use crate::classes;
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

/// Has objects of `ty` end here.
///
/// # Safety
/// `ty` is a registered class: made by a `class` statement, with `Model` as its root, with no finalizer.
pub unsafe fn install(ty: *mut ffi::PyTypeObject) {
    // SAFETY: a live type object, which nobody else changes meanwhile: the interpreter lock is held.
    unsafe { (*ty).tp_dealloc = Some(end) };
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
