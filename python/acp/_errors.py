"""Exception to wire error, in one function.

Owns what a peer gets to see of an exception. It sends nothing and knows no handler; nothing else in
the package maps exceptions to codes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    lax: bool = False,
) -> WireError:
    """The error object that answers a request whose handling ended with `exc`.

    Args:
        exc: What ended the handling.
        method: The request's method.
        cancelled: Whether `exc` is a cancellation.
        expose: Whether the text of an unexpected exception may be shown to the peer; otherwise only
            the name of its type, because texts of exceptions carry values.
        lax: Whether every ValidationError stands for params that do not fit, as with the official
            Python SDK; otherwise those that `blame_params` was told of.
    """
    if cancelled:
        exc = RequestError.request_cancelled()
    elif isinstance(exc, NotImplementedError):
        exc = RequestError.method_not_found(method)
    if isinstance(exc, RequestError):
        return WireError(exc.code, exc.message, NO_DATA if exc.data is None else exc.data)
    unfit = misfit(exc)
    if unfit is not None and (lax or _OF_PARAMS in vars(unfit)):
        return WireError(-32602, "Invalid params", [_fault(fault) for fault in unfit.errors()])
    data = {"type": type(exc).__name__}
    if expose:
        data["details"] = _text(exc)
    return WireError(-32603, "Internal error", data)


def _text(exc: BaseException) -> str:
    try:
        return str(exc)
    except Exception:  # noqa: BLE001 - the user's own, which must not cost the answer
        return ""


def _fault(fault: dict[str, Any]) -> dict[str, Any]:
    return {"loc": list(fault["loc"]), "type": fault["type"], "message": fault["message"]}
