"""The Python root of all schema classes.

Owns what objects of the schema do in Python besides what `acp._core.Model` does; knows no class of any version.
"""

from __future__ import annotations

from acp._core import Model

__all__ = ["BaseModel"]


class BaseModel(Model):
    """Base of every schema object of every protocol version.

    Members are given by keyword, by attribute name or by wire name; values are validated and coerced, unknown
    keywords are ignored. Assignment does not validate. Raises `ValidationError` for members that do not fit.
    """

    __slots__ = ()
