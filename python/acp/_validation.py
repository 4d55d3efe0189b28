"""Which exceptions tell that a value does not fit its type.

Owns the answer to that, also where the user has pydantic. It reads no value.
"""

from __future__ import annotations

import sys

from acp.exceptions import ValidationError

__all__ = ("validation_errors",)


def validation_errors() -> tuple[type[Exception], ...]:
    """Ours, and pydantic's where that is in use: nobody can raise it who has not imported it."""
    theirs = getattr(sys.modules.get("pydantic"), "ValidationError", None)
    return (ValidationError,) if theirs is None else (ValidationError, theirs)
