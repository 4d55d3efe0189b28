//! First steps of handlers.
//!
//! Owns the way from a received notification into the user's handler, as far as it needs no task: decode, call, first
//! step in a context of its own. Handlers that end in that step, nearly all of them, cost no more than this. Which
//! handler a method has, what waits for what and what a failure means is the dispatcher's.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit, intern};

use crate::events::NotificationReceived;

/// One call of a handler, from its first step to its end.
#[pyclass(subclass, module = "acp._core")]
pub struct HandlerRun {
    #[pyo3(get)]
    owner: Py<PyAny>,
    #[pyo3(get)]
    event: Py<PyAny>,
    #[pyo3(get)]
    route: Py<PyAny>,
    #[pyo3(get, set)]
    calls: usize,
    #[pyo3(get, set)]
    lane: Option<Py<PyAny>>,
    #[pyo3(get, set)]
    closing: bool,
    #[pyo3(get)]
    unread: bool,
    #[pyo3(get, set)]
    suspended: Option<Py<PyAny>>,
}

#[pymethods]
impl HandlerRun {
    #[new]
    fn new(owner: Py<PyAny>, event: Py<PyAny>, route: Py<PyAny>) -> Self {
        Self {
            owner,
            event,
            route,
            calls: 0,
            lane: None,
            closing: false,
            unread: false,
            suspended: None,
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)?;
        visit.call(&self.event)?;
        visit.call(&self.route)?;
        visit.call(&self.lane)?;
        visit.call(&self.suspended)
    }

    /// Every cycle through a run goes through one of these.
    fn __clear__(&mut self) {
        self.lane = None;
        self.suspended = None;
    }
}

/// What a handler that did not end in its first step left: its body, its context, and what it waits for.
type Left = (Py<PyAny>, Py<PyAny>, Py<PyAny>);

/// The index of the next event, the run of a handler that did not simply end, and what that left or raised.
type Stepped<'py> = (usize, Option<Bound<'py, HandlerRun>>, Option<Bound<'py, PyAny>>);

/// Takes the first steps of one connection's handlers, and tells when it is the turn of other tasks.
#[pyclass(frozen, module = "acp._core")]
pub struct Steps {
    owner: Py<PyAny>,
    direct: Py<PyDict>,
    kept: Py<PyDict>,
    mark: Py<PyAny>,
    finish: Py<PyAny>,
    most: u32,
    longest: Duration,
    taken: AtomicU32,
    since: AtomicU64,
}

/// Nanoseconds since the first call in this process.
fn now() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[pymethods]
impl Steps {
    #[new]
    #[pyo3(signature = (owner, direct, kept, mark, finish, *, most, longest))]
    fn new(
        owner: Py<PyAny>,
        direct: Py<PyDict>,
        kept: Py<PyDict>,
        mark: &Bound<'_, PyAny>,
        finish: Py<PyAny>,
        most: u32,
        longest: f64,
    ) -> PyResult<Self> {
        // SAFETY: an object.
        if unsafe { ffi::PyContextVar_CheckExact(mark.as_ptr()) } == 0 {
            return Err(PyTypeError::new_err("mark has to be a ContextVar"));
        }
        let longest = Duration::try_from_secs_f64(longest)
            .map_err(|_| pyo3::exceptions::PyValueError::new_err("longest has to be seconds"))?;
        Ok(Self {
            owner,
            direct,
            kept,
            mark: mark.clone().unbind(),
            finish,
            most,
            longest,
            taken: AtomicU32::new(0),
            since: AtomicU64::new(now()),
        })
    }

    /// Takes the first steps of the notifications in `events` from `at` on, as far as nothing else is to be done.
    #[pyo3(signature = (events, at, /))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        events: &Bound<'py, PyList>,
        mut at: usize,
    ) -> PyResult<Stepped<'py>> {
        if at == 0 {
            self.since.store(now(), Ordering::Relaxed);
        }
        let (direct, kept) = (self.direct.bind(py), self.kept.bind(py));
        while let Ok(event) = events.get_item(at) {
            let Ok(notification) = event.cast::<NotificationReceived>() else { break };
            let notification = notification.get();
            if notification.token.is_some() {
                break;
            }
            if !kept.is_empty() && kept.contains(&notification.lane)? {
                break;
            }
            let Some(found) = direct.get_item(&notification.method)? else { break };
            let found = found.cast::<PyTuple>()?;
            let (route, call) = (found.get_borrowed_item(0)?, found.get_borrowed_item(1)?);
            at += 1;
            let run = HandlerRun::new(
                self.owner.clone_ref(py),
                event.clone().unbind(),
                route.to_owned().unbind(),
            );
            let run = Bound::new(py, run)?;
            let stepped = match notification.params(py) {
                Ok(params) => self.step(run.as_any(), || call.call1((params,))),
                Err(error) => {
                    run.borrow_mut().unread = true;
                    Err(error)
                }
            };
            match stepped {
                Ok(None) => {}
                Ok(Some(left)) => {
                    return Ok((at, Some(run), Some(left.into_pyobject(py)?.into_any())));
                }
                Err(error) => {
                    return Ok((
                        at,
                        Some(run),
                        Some(error.into_value(py).into_bound(py).into_any()),
                    ));
                }
            }
            if self.tick() {
                break;
            }
        }
        Ok((at, None, None))
    }

    /// Calls `function` with `argument` for `run`, and takes the first step of what it returns.
    #[pyo3(signature = (run, function, argument, /))]
    fn first(
        &self,
        run: &Bound<'_, PyAny>,
        function: &Bound<'_, PyAny>,
        argument: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Left>> {
        self.step(run, || function.call1((argument,)))
    }

    /// Counts a step that was taken elsewhere. Whether it is the turn of other tasks.
    fn tick(&self) -> bool {
        self.taken.store(self.taken.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
        self.spent()
    }

    /// Whether it is the turn of other tasks.
    #[getter]
    fn spent(&self) -> bool {
        let passed = now().saturating_sub(self.since.load(Ordering::Relaxed));
        self.taken.load(Ordering::Relaxed) >= self.most
            || u128::from(passed) > self.longest.as_nanos()
    }

    /// Other tasks had their turn.
    fn renew(&self) {
        self.taken.store(0, Ordering::Relaxed);
        self.since.store(now(), Ordering::Relaxed);
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)?;
        visit.call(&self.direct)?;
        visit.call(&self.kept)?;
        visit.call(&self.mark)?;
        visit.call(&self.finish)
    }
}

impl Steps {
    fn step<'py>(
        &self,
        run: &Bound<'py, PyAny>,
        call: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Left>> {
        let py = run.py();
        // SAFETY: the interpreter lock is held; a new reference or an error.
        let context = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyContext_CopyCurrent())? };
        // SAFETY: a context that nobody else has, so that it is not entered yet.
        if unsafe { ffi::PyContext_Enter(context.as_ptr()) } != 0 {
            return Err(PyErr::fetch(py));
        }
        let stepped = self.step_here(run, call);
        // SAFETY: the context that was entered above; whatever ran since has left those that it entered.
        if unsafe { ffi::PyContext_Exit(context.as_ptr()) } != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(stepped?.map(|(body, yielded)| (body.unbind(), context.unbind(), yielded.unbind())))
    }

    /// The same in the current context, which is the handler's own.
    fn step_here<'py>(
        &self,
        run: &Bound<'py, PyAny>,
        call: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        let py = run.py();
        // SAFETY: a context variable, see `new`, and an object; a new reference or an error.
        unsafe {
            let token = ffi::PyContextVar_Set(self.mark.as_ptr(), run.as_ptr());
            drop(Bound::from_owned_ptr_or_err(py, token)?);
        }
        let mut body = call()?;
        // SAFETY: an object.
        if unsafe { ffi::PyCoro_CheckExact(body.as_ptr()) } == 0 {
            // Handlers may be plain functions, and return any awaitable.
            if body.is_none() || !body.hasattr(intern!(py, "__await__"))? {
                return Ok(None);
            }
            body = self.finish.bind(py).call1((body,))?;
        }
        let mut yielded = std::ptr::null_mut();
        // SAFETY: a coroutine, as are those that `finish` returns, or anything, which is an error then.
        let sent = unsafe { ffi::PyIter_Send(body.as_ptr(), ffi::Py_None(), &raw mut yielded) };
        if sent == ffi::PySendResult::PYGEN_ERROR {
            return Err(PyErr::fetch(py));
        }
        // SAFETY: without an error it is a new reference.
        let yielded = unsafe { Bound::from_owned_ptr(py, yielded) };
        Ok((sent == ffi::PySendResult::PYGEN_NEXT).then_some((body, yielded)))
    }
}
