"""The Python root of all schema classes.

Owns what objects of the schema do in Python besides what `acp._core.Model` does, above all telling
about their fields; knows no class of any version.
"""

from __future__ import annotations

from typing import Any, ClassVar

from acp._core import Model, field_facts

__all__ = ["BaseModel", "FieldInfo"]


class FieldInfo:
    """What is known about one field of a schema class.

    Fields:
        alias: the member's name on the wire; None when it is the attribute's.
        annotation: the annotation as it stands in the source, not evaluated.
        required: whether the constructor needs it.
    """

    __slots__ = ("_default", "alias", "annotation", "required")

    alias: str | None
    annotation: str
    required: bool

    def __init__(self, *, alias: str | None, annotation: str, required: bool, default: Any) -> None:
        self.alias = alias
        self.annotation = annotation
        self.required = required
        self._default = default

    @property
    def default(self) -> Any:
        """The attribute's value when the member is absent: a new one each time.

        None for a required field.
        """
        from copy import deepcopy

        return deepcopy(self._default)

    def is_required(self) -> bool:
        """Whether the constructor needs the field."""
        return self.required

    def __repr__(self) -> str:
        return (
            f"FieldInfo(annotation={self.annotation!r}, required={self.required!r}, "
            f"default={self._default!r}, alias={self.alias!r})"
        )


class _Fields:
    """Makes `model_fields` of a class when it is first asked for, and keeps it with the class."""

    __slots__ = ()

    def __get__(self, instance: object, owner: type[Model]) -> dict[str, FieldInfo]:
        made: dict[str, FieldInfo] | None = owner.__dict__.get("_fields_made")
        if made is None:
            annotations: dict[str, Any] = {}
            for base in reversed(owner.__mro__):
                annotations.update(getattr(base, "__annotations__", {}))
            made = {
                name: FieldInfo(
                    alias=None if wire == name else wire,
                    annotation=str(annotations.get(name, "Any")),
                    required=required,
                    default=default,
                )
                for name, wire, required, default in field_facts(owner)
            }
            type.__setattr__(owner, "_fields_made", made)
        return made


class BaseModel(Model):
    """Base of every schema object of every protocol version.

    Members are given by keyword, by attribute name or by wire name; values are validated and
    coerced, unknown keywords are ignored. Assignment does not validate. Raises `ValidationError`
    for members that do not fit.
    """

    __slots__ = ()

    model_fields: ClassVar[_Fields] = _Fields()
    """What is known about the fields, by attribute name; constant discriminators come last."""

    model_config: ClassVar[dict[str, Any]] = {"populate_by_name": True}
    """Options in the words of pydantic; they tell and change nothing."""

    @classmethod
    def model_rebuild(cls, **options: Any) -> None:
        """Does nothing, for programs that call it on every model: annotations are not evaluated."""
