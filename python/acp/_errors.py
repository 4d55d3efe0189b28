"""Exception to wire error, in one function.

Owns what a peer gets to see of an exception. It sends nothing and knows no handler; nothing else in
the package maps exceptions to codes.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from acp._validation import validation_errors
from acp.exceptions import RequestError, ValidationError

__all__ = ("NO_DATA", "WireError", "blame_params", "misfit", "wire_error")

NO_DATA: Any = object()
"""Stands for an error object without the member `data`."""


_OF_PARAMS = "_of_params"


class WireError(NamedTuple):
    """The members of a JSON-RPC error object."""

    code: int
    message: str
    data: Any = NO_DATA


def misfit(exc: BaseException) -> ValidationError | None:
    """What does not fit, where that is what `exc` says; None for every other exception.

    In programs that use pydantic, schema classes raise its ValidationError, whose cause is ours.
    Its own texts and places hold values.
    """
    if isinstance(exc, ValidationError):
        return exc
    of_pydantic = type(exc).__module__.partition(".")[0] == "pydantic_core"
    cause = exc.__cause__
    return cause if of_pydantic and isinstance(cause, ValidationError) else None


def blame_params(exc: Exception) -> None:
    """Marks an exception as what the params of a request have raised that do not fit.

    Code of a handler may raise the same type, for an object of its own that does not fit.
    """
    if (unfit := misfit(exc)) is not None:
        vars(unfit)[_OF_PARAMS] = True


def wire_error(
    exc: BaseException,
    *,
    method: str,
    cancelled: bool = False,
    expose: bool = False,
    official: bool = False,
) -> WireError:
    """The error object that answers a request whose handling ended with `exc`.

    Args:
        exc: What ended the handling.
        method: The request's method.
        cancelled: Whether `exc` is a cancellation.
        expose: Whether the text of an unexpected exception may be shown to the peer; otherwise only
            the name of its type, because texts of exceptions carry values.
        official: Whether the data have the form that those of the official Python SDK have.
    """
    if cancelled:
        exc = RequestError.request_cancelled()
    elif isinstance(exc, NotImplementedError):
        exc = RequestError.method_not_found(method)
    if isinstance(exc, RequestError):
        return _told(exc)
    faults = _faults(exc, official)
    if faults is not None:
        data = {"errors": [_official_fault(fault) for fault in faults]} if official else faults
        return WireError(-32602, "Invalid params", data)
    if not expose:
        return _by_type(exc)
    text = _text(exc)
    if official:
        return WireError(-32603, "Internal error", _members(text) or {"details": text})
    return WireError(-32603, "Internal error", {"type": type(exc).__name__, "details": text})


def _told(exc: RequestError) -> WireError:
    """What an exception of the user's says itself; subclasses may have made anything of it."""
    try:
        told = exc.to_error_obj()
        code, message, data = told["code"], told["message"], told.get("data")
    except Exception:  # noqa: BLE001 - the user's own, which must not cost the answer
        return _by_type(exc)
    if type(code) is not int or not isinstance(message, str):
        return _by_type(exc)
    return WireError(code, message, NO_DATA if data is None else data)


def _by_type(exc: BaseException) -> WireError:
    """An internal error of which the peer sees no more than what kind it is."""
    return WireError(-32603, "Internal error", {"type": type(exc).__name__})


def _faults(exc: BaseException, official: bool) -> list[dict[str, Any]] | None:
    """What does not fit, when that is what an exception tells.

    With the official form also that of pydantic, whose texts may hold what a validator has put into
    them.
    """
    unfit = misfit(exc)
    if official and unfit is None and isinstance(exc, validation_errors()):
        unfit = cast("ValidationError", exc)
    if unfit is None or not (official or _OF_PARAMS in vars(unfit)):
        return None
    faults = unfit.errors()
    return [
        {
            "loc": list(fault["loc"]),
            "type": fault["type"],
            "message": fault.get("message") or fault.get("msg", ""),
        }
        for fault in faults
    ]


def _official_fault(fault: dict[str, Any]) -> dict[str, Any]:
    return {"loc": fault["loc"], "type": fault["type"], "msg": fault["message"]}


def _members(text: str) -> dict[str, Any]:
    """The data that a handler has put into the text of its exception as a JSON object, if it has.

    Only objects: a text that happens to be a number or a word is a text.
    """
    if not text.startswith("{"):
        return {}
    import json

    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _text(exc: BaseException) -> str:
    try:
        return str(exc)
    except Exception:  # noqa: BLE001 - the user's own, which must not cost the answer
        return ""
