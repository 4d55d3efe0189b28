"""Calls and handlers in the form of the first releases of the official Python SDK: camelCase names,
and one object of the schema in place of keywords.

Owns how such a call becomes one of today, and the warnings. It knows no method and sends nothing.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from acp._schema.base import BaseModel

__all__ = (
    "ClassT",
    "MethodT",
    "MultiParamModelSpec",
    "T",
    "compatible_class",
    "model_to_kwargs",
    "param_model",
    "param_models",
    "to_camel_case",
    "warn_of_old_handler",
)

MethodT = TypeVar("MethodT", bound=Callable[..., Any])
ClassT = TypeVar("ClassT", bound=type)
T = TypeVar("T")
MultiParamModelSpec = tuple[type["BaseModel"], ...]


def param_model(param_cls: type[BaseModel]) -> Callable[[MethodT], MethodT]:
    """Marks a method with the type whose objects its old form takes."""

    def mark(method: MethodT) -> MethodT:
        vars(method)["__param_model__"] = param_cls
        return method

    return mark


def param_models(*param_cls: type[BaseModel]) -> Callable[[MethodT], MethodT]:
    """Marks a method whose old form takes objects of several types. Raises ValueError for none."""
    if not param_cls:
        message = "param_models() needs at least one class"
        raise ValueError(message)

    def mark(method: MethodT) -> MethodT:
        vars(method)["__param_models__"] = param_cls
        return method

    return mark


def to_camel_case(snake_str: str) -> str:
    """The name in camelCase: `new_session` is `newSession`."""
    first, *others = snake_str.split("_")
    return first + "".join(map(str.title, others))


def model_to_kwargs(model_obj: BaseModel, models: MultiParamModelSpec) -> dict[str, Any]:
    """The fields that all of `models` have as keywords, and the members of `_meta` beside them.

    A member of `_meta` never takes the place of a field.
    """
    names = [name for name in models[0].model_fields if name != "field_meta"]
    for model in models[1:]:
        names = [name for name in names if name in model.model_fields]
    fields = {name: getattr(model_obj, name) for name in names}
    meta: dict[str, Any] | None = getattr(model_obj, "field_meta", None)
    return {**meta, **fields} if meta else fields


def compatible_class(cls: ClassT) -> ClassT:
    """Gives a class the old forms of its marked methods.

    A method whose name has an underscore gets a twin with a name in camelCase; any other takes the
    object itself. Each such call warns with DeprecationWarning.
    """
    for name in dir(cls):
        method = getattr(cls, name)
        model = getattr(method, "__param_model__", None)
        models = getattr(method, "__param_models__", None) or ((model,) if model else ())
        if not models:
            continue
        if "_" in name:
            setattr(cls, to_camel_case(name), _camel_case_form(method, models))
        else:
            setattr(cls, name, _either_form(method, models))
    return cls


def _camel_case_form(method: Callable[..., Any], models: MultiParamModelSpec) -> Any:
    @functools.wraps(method)
    def old_form(self: Any, params: Any) -> Any:
        _warn_of_old_call(method, models)
        return method(self, **_keywords(method, params, models))

    return old_form


def _either_form(method: Callable[..., Any], models: MultiParamModelSpec) -> Any:
    @functools.wraps(method)
    def either_form(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = args + tuple(kwargs.values())
        if len(given) == 1 and isinstance(given[0], models) and not kwargs.keys() - {"params"}:
            _warn_of_old_call(method, models)
            return method(self, **_keywords(method, given[0], models))
        return method(self, *args, **kwargs)

    return either_form


def _keywords(
    method: Callable[..., Any], params: Any, models: MultiParamModelSpec
) -> dict[str, Any]:
    keywords = model_to_kwargs(params, models)
    # A field that the method has no parameter for would become a member of `_meta`.
    fields = {name for model in models for name in model.model_fields}
    for name in fields - set(inspect.signature(method).parameters):
        keywords.pop(name, None)
    return keywords


def _warn_of_old_call(method: Callable[..., Any], models: MultiParamModelSpec) -> None:
    names = " | ".join(model.__name__ for model in models)
    message = (
        f"Calling {method.__name__} with {names} parameter is deprecated: call "
        f"{method.__name__}() with its fields as keywords"
    )
    warnings.warn(message, DeprecationWarning, stacklevel=3)


def warn_of_old_handler(target: object, attribute: str) -> None:
    """Warns that a handler has the old form, as it is called."""
    message = (
        f"The old style method {type(target).__name__}.{attribute} is deprecated: give it its name "
        f"in snake_case, and the fields of the request as parameters"
    )
    warnings.warn(message, DeprecationWarning, stacklevel=3)
