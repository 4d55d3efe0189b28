"""The Python root of all schema classes.

Owns what objects of the schema do in Python besides what `acp._core.Model` does: telling about
their fields, and the names that pydantic looks for. Knows no class of any version; what only
pydantic's users need is `acp._schema.twins`, which is not imported before they ask for it.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from acp._core import Model, field_facts, pydantic_in_use

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

__all__ = ["BaseModel", "FieldInfo", "RootModel"]

# Within `BaseModel`, `dict` is a method.
_Plain: TypeAlias = dict[str, Any]


class FieldInfo:
    """What is known about one field of a schema class.

    Fields:
        alias: the member's name on the wire; None when it is the attribute's.
        annotation: the type of the attribute.
        required: whether the constructor needs it.
        description: what it is, in a sentence; None where Python runs without docstrings.
    """

    __slots__ = ("_default", "alias", "annotation", "description", "required")

    alias: str | None
    annotation: Any
    required: bool
    description: str | None

    def __init__(
        self,
        *,
        alias: str | None,
        annotation: Any,
        required: bool,
        default: Any,
        description: str | None = None,
    ) -> None:
        self.alias = alias
        self.annotation = annotation
        self.required = required
        self.description = description
        self._default = default

    @property
    def default(self) -> Any:
        """The attribute's value when the member is absent: a new one each time.

        None for a required field.
        """
        from copy import deepcopy

        return deepcopy(self._default)

    @property
    def default_factory(self) -> None:
        """None: defaults are told as values."""
        return

    @property
    def metadata(self) -> list[Any]:
        """Empty: constraints beyond the annotation are not told."""
        return []

    @property
    def discriminator(self) -> None:
        """None: which class a dict becomes is not told."""
        return

    def is_required(self) -> bool:
        """Whether the constructor needs the field."""
        return self.required

    def get_default(self, *, call_default_factory: bool = False, **options: Any) -> Any:
        """The same as `default`; the options of pydantic change nothing."""
        return self.default

    def __repr__(self) -> str:
        return (
            f"FieldInfo(annotation={self.annotation!r}, required={self.required!r}, "
            f"default={self._default!r}, alias={self.alias!r})"
        )


class _Fields:
    """Makes `model_fields` of a class when it is first asked for, and keeps it with the class.

    Where pydantic is in use they are its own, those of the model that stands for the class.
    """

    __slots__ = ()

    def __get__(self, instance: object, owner: type[Model]) -> dict[str, Any]:
        if pydantic_in_use():
            from acp._schema.twins import twin

            return twin(owner).model_fields
        made: dict[str, FieldInfo] | None = owner.__dict__.get("_fields_made")
        if made is None:
            from acp._schema.hints import descriptions, types

            kinds, said = types(owner), descriptions(owner)
            # The classes of this module are no objects of the protocol.
            facts = [] if owner.__module__ == __name__ else field_facts(owner)
            made = {
                name: FieldInfo(
                    alias=None if wire == name else wire,
                    annotation=kinds.get(name, Any),
                    required=required,
                    default=default,
                    description=said.get(name),
                )
                for name, wire, required, default in facts
            }
            type.__setattr__(owner, "_fields_made", made)
        return made


class _FormerFields:
    """The name that `model_fields` had in version 1 of pydantic."""

    __slots__ = ()

    def __get__(self, instance: object, owner: type[BaseModel]) -> dict[str, Any]:
        _tell_former("__fields__", "model_fields")
        return owner.model_fields


def _tell_former(former: str, name: str) -> None:
    """Warns the caller of the caller that a name is one of version 1 of pydantic."""
    warnings.warn(f"`{former}` is deprecated; use `{name}`.", DeprecationWarning, stacklevel=3)


class _OfTwin:
    """A name that pydantic looks for: that of the model which stands for the class.

    Without pydantic there is no such attribute.
    """

    __slots__ = ("_name",)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type[Model]) -> Any:
        if not pydantic_in_use():
            raise AttributeError(self._name)
        from acp._schema.twins import attribute

        return attribute(owner, self._name)


def _refuse_fields(cls: type[Model]) -> None:
    """Raises TypeError for a user's class with fields of its own, which are pydantic's to read.

    Without pydantic their values would be dropped, and nobody would be told.
    """
    from acp._schema.hints import fields_of_ones_own

    if names := fields_of_ones_own(cls):
        raise TypeError(
            f"{cls.__name__} declares fields of its own ({', '.join(names)}): "
            "import pydantic, 2.7 or newer, before the class is defined"
        )


class BaseModel(Model):
    """Base of every schema object of every protocol version.

    Members are given by keyword, by attribute name or by wire name; values are validated and
    coerced, unknown keywords are ignored. Assignment does not validate. Members that do not fit
    raise `pydantic.ValidationError` in a program that has imported pydantic, and
    `acp.ValidationError` in any other; both are ValueErrors.
    """

    __slots__ = ()

    model_fields: ClassVar[_Fields] = _Fields()
    """What is known about the fields, by attribute name; constant discriminators come last."""

    model_config: ClassVar[_Plain] = {
        "populate_by_name": True,
        "use_attribute_docstrings": True,
    }
    """Options in the words of pydantic. They change nothing but where a subclass has its own in a
    program that uses pydantic.
    """

    __pydantic_validator__ = _OfTwin()
    __pydantic_serializer__ = _OfTwin()
    __pydantic_decorators__ = _OfTwin()
    __pydantic_fields__ = _OfTwin()
    __pydantic_complete__ = _OfTwin()
    __pydantic_root_model__ = _OfTwin()
    __signature__ = _OfTwin()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__()
        if cls.__module__.startswith("acp._schema."):
            return
        if pydantic_in_use():
            from acp._schema.extended import extend

            extend(cls, options, frames=1)
        else:
            _refuse_fields(cls)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from acp._schema.twins import core_schema

        return core_schema(cls, handler)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> Any:
        from acp._schema.twins import class_json_schema

        return class_json_schema(cls, core_schema, handler)

    @classmethod
    def model_json_schema(cls, *arguments: Any, **options: Any) -> _Plain:
        """The JSON Schema of the class, made by pydantic and with its arguments.

        Raises RuntimeError in a program that has not imported pydantic.
        """
        if not pydantic_in_use():
            raise RuntimeError("JSON Schemas are made by pydantic: import it first")
        from acp._schema.twins import json_schema

        return json_schema(cls, *arguments, **options)

    @classmethod
    def model_rebuild(cls, **options: Any) -> None:
        """Does nothing, for programs that call it on every model: all names are known."""

    def model_post_init(self, context: Any, /) -> None:
        """Does nothing; a subclass's own is called when an object has been read or made.

        It takes pydantic, imported before the class is defined.
        """

    __fields__ = _FormerFields()

    def dict(self, **options: Any) -> _Plain:
        """Deprecated: the name of `model_dump` in version 1 of pydantic."""
        _tell_former("dict", "model_dump")
        return self.model_dump(**options)

    def json(self, **options: Any) -> str:
        """Deprecated: the name of `model_dump_json` in version 1 of pydantic."""
        _tell_former("json", "model_dump_json")
        return self.model_dump_json(**options)

    def copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Deprecated: the name of `model_copy` in version 1 of pydantic."""
        _tell_former("copy", "model_copy")
        return self.model_copy(update=update, deep=deep)

    @classmethod
    def construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:
        """Deprecated: the name of `model_construct` in version 1 of pydantic."""
        _tell_former("construct", "model_construct")
        return cls.model_construct(_fields_set, **values)

    @classmethod
    def parse_obj(cls, obj: Any) -> Self:
        """Deprecated: the name of `model_validate` in version 1 of pydantic."""
        _tell_former("parse_obj", "model_validate")
        return cls.model_validate(obj)

    @classmethod
    def parse_raw(cls, b: str | bytes) -> Self:
        """Deprecated: the name of `model_validate_json` in version 1 of pydantic."""
        _tell_former("parse_raw", "model_validate_json")
        return cls.model_validate_json(b)


class RootModel(BaseModel):
    """Base of classes that the official Python SDK knows by two names, one within the other.

    Here the two are one class. An object is made of its members, or of the one argument that the
    outer class takes there: an object or a dict.
    """

    __slots__ = ()

    @property
    def root(self) -> Self:
        """The object itself."""
        return self
