"""Elicitation in the form of the drop-in surface: a message, and a `mode` with all the rest.

Owns the way from these two to the params of `elicitation/create` and back. It sends nothing and
knows no handler.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, cast

from acp._core import field_facts
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
    in_session = _member(mode, "session_id") is not None
    kind: Any = next(request for request, *facts in _kinds() if facts[1:] == [is_form, in_session])
    scope = ("session_id", "tool_call_id") if in_session else ("request_id",)
    members = (*scope, "requested_schema") if is_form else (*scope, "elicitation_id", "url")
    given = {name: _member(mode, name) for name in members}
    if given.get("url") is not None:
        # Perhaps an object of pydantic's.
        given["url"] = str(given["url"])
    return kind(message=message, field_meta=field_meta, **given)


def mode_of(params: Any) -> Any:
    """What a handler gets as `mode`: one of the objects of `acp.schema.ElicitationMode`.

    Raises RequestError (-32602) for a mode that is neither a form nor an address.
    """
    for request, mode, *_ in _kinds():
        if isinstance(params, request):
            return mode(**{name: getattr(params, name) for name, *_ in field_facts(mode)})
    fault = {"loc": ["mode"], "type": "unknown_value", "msg": "is not one of the known values"}
    raise RequestError.invalid_params({"errors": [fault]})


@functools.cache
def _kinds() -> tuple[tuple[type, Any, bool, bool], ...]:
    """Params, what a handler gets of them, and whether that is a form, and of a session."""
    from acp import schema as v1

    return (
        (v1.CreateFormSessionElicitationRequest, v1.ElicitationFormSessionMode, True, True),
        (v1.CreateFormRequestElicitationRequest, v1.ElicitationFormRequestMode, True, False),
        (v1.CreateUrlSessionElicitationRequest, v1.ElicitationUrlSessionMode, False, True),
        (v1.CreateUrlRequestElicitationRequest, v1.ElicitationUrlRequestMode, False, False),
    )


def _member(mode: Any, name: str) -> Any:
    if isinstance(mode, Mapping):
        return cast("Mapping[str, Any]", mode).get(name)
    return getattr(mode, name, None)
