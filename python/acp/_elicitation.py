"""Elicitation in the form of the drop-in surface: a message, and a `mode` with all the rest.

Owns the way from these two to the params of `elicitation/create` and back. It sends nothing and
knows no handler.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from acp.exceptions import RequestError

__all__ = ("elicitation_request", "mode_of")


def elicitation_request(message: str, mode: Any, field_meta: dict[str, Any] | None) -> Any:
    """The params of `elicitation/create`.

    `mode` is an object or a mapping with `session_id` (and perhaps `tool_call_id`) or `request_id`,
    and with `requested_schema` for a form or `elicitation_id` and `url` for an address. Raises
    ValidationError when something is missing or does not fit.
    """
    from acp import schema

    if isinstance(mode, schema.CreateOtherElicitationRequest):
        return mode.model_copy(update={"message": message, "field_meta": field_meta})
    is_form = _member(mode, "requested_schema") is not None
    kind: Any
    if _member(mode, "session_id") is not None:
        scope = ("session_id", "tool_call_id")
        kind = (
            schema.CreateFormSessionElicitationRequest
            if is_form
            else schema.CreateUrlSessionElicitationRequest
        )
    else:
        scope = ("request_id",)
        kind = (
            schema.CreateFormRequestElicitationRequest
            if is_form
            else schema.CreateUrlRequestElicitationRequest
        )
    members = (*scope, "requested_schema") if is_form else (*scope, "elicitation_id", "url")
    return kind(
        message=message,
        field_meta=field_meta,
        **{name: _member(mode, name) for name in members},
    )


def mode_of(params: Any) -> Any:
    """What a handler gets as `mode`: the params themselves, which have all of its members.

    Raises RequestError (-32602) for a mode that is neither a form nor an address.
    """
    if params.mode in ("form", "url"):
        return params
    fault = {"type": "unknown_value", "loc": ["mode"], "msg": "is not one of the known values"}
    raise RequestError.invalid_params({"errors": [fault]})


def _member(mode: Any, name: str) -> Any:
    if isinstance(mode, Mapping):
        return cast("Mapping[str, Any]", mode).get(name)
    return getattr(mode, name, None)
