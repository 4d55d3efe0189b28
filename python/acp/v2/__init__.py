"""Protocol version 2, a draft: it changes with every release of the protocol.

Owns the names of that version; importing this package is the consent to that. So far these are its
objects, in `acp.v2.schema`.
"""

from __future__ import annotations
