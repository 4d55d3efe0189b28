"""Which protocol versions there are.

Owns the two numbers that are easily taken for one: what is modelled, and what is served. It
negotiates nothing.
"""

from __future__ import annotations

from typing import Final

__all__ = ("HIGHEST_MODELED", "SERVED")

HIGHEST_MODELED: Final = 2
"""The highest protocol version whose objects are there. It may be a draft: that its objects can be
read and written says nothing about an endpoint that speaks it.
"""

SERVED: Final[tuple[int, ...]] = (1,)
"""The versions that endpoints speak without being asked for a draft. Importing `acp.v2` is asking:
the endpoints of that package speak version 2.
"""
