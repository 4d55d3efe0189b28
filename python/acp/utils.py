"""Small functions around objects of the schema, under the name of the official Python SDK.

Owns requests and notifications on an `acp.connection.Connection` with objects in place of plain
data. No logic of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from acp._lazy import passing_on
from acp._old_forms import (
    compatible_class,
    model_to_kwargs,
    param_model,
    param_models,
    to_camel_case,
)
from acp._schema.base import BaseModel

if TYPE_CHECKING:
    from acp.connection import Connection

__all__ = [
    "compatible_class",
    "ensure_dict",
    "model_to_kwargs",
    "normalize_result",
    "notify_model",
    "param_model",
    "param_models",
    "request_model",
    "request_model_from_dict",
    "request_optional_model",
    "serialize_params",
    "to_camel_case",
    "validate_model",
    "validate_model_from_dict",
    "validate_optional_model",
]

if not TYPE_CHECKING:
    __getattr__ = passing_on(__name__, "acp._old_forms", "acp.connection")

ModelT = TypeVar("ModelT", bound=BaseModel)


def serialize_params(params: BaseModel) -> dict[str, Any]:
    """The plain JSON data of an object, by wire names, without null and what equals its default."""
    return params.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)


def normalize_result(payload: Any) -> dict[str, Any]:
    """A result as plain JSON data: `{}` for None, and anything that is no object as it is."""
    if payload is None:
        return {}
    return serialize_params(payload) if isinstance(payload, BaseModel) else payload


def ensure_dict(payload: Any) -> dict[str, Any]:
    """The payload when it is a dict, else `{}`."""
    return cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}


def validate_model(payload: Any, model_type: type[ModelT]) -> ModelT:
    """The payload as an object of the type. Raises ValidationError."""
    return model_type.model_validate(payload)


def validate_model_from_dict(payload: Any, model_type: type[ModelT]) -> ModelT:
    """The same, for which what is no dict counts as `{}`."""
    return model_type.model_validate(ensure_dict(payload))


def validate_optional_model(payload: Any, model_type: type[ModelT]) -> ModelT | None:
    """The same, for which what is no dict is None."""
    return model_type.model_validate(payload) if isinstance(payload, dict) else None


async def request_model(
    conn: Connection, method: str, params: BaseModel, response_model: type[ModelT]
) -> ModelT:
    """Sends a request and returns its result as an object of the type.

    Raises what `Connection.send_request` does, and ValidationError for a result that does not fit.
    """
    return validate_model(await _ask(conn, method, params), response_model)


async def request_model_from_dict(
    conn: Connection, method: str, params: BaseModel, response_model: type[ModelT]
) -> ModelT:
    """The same, for which a result that is no dict counts as `{}`."""
    return validate_model_from_dict(await _ask(conn, method, params), response_model)


async def request_optional_model(
    conn: Connection, method: str, params: BaseModel, response_model: type[ModelT]
) -> ModelT | None:
    """The same, for which a result that is no dict is None."""
    return validate_optional_model(await _ask(conn, method, params), response_model)


async def notify_model(conn: Connection, method: str, params: BaseModel) -> None:
    """Sends a notification. Raises what `Connection.send_notification` does."""
    await conn.send_notification(method, serialize_params(params))


async def _ask(conn: Connection, method: str, params: BaseModel) -> Any:
    return await conn.send_request(method, serialize_params(params))
