"""Protocol version 1.

Owns the names of the version that is in use today. So far these are its objects, in
`acp.v1.schema`.
"""

from __future__ import annotations
