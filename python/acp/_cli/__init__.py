"""The command `acp`.

Owns what is shown in a terminal. Everything else comes from the library's public names.
"""

from __future__ import annotations
