"""Endpoints: what serves a protocol version, and the connections that it makes.

Owns what `acp.v1` and `acp.v2` have in common above the dispatcher: handlers and how they are
called, what handlers get, requests as handles. It knows no method and compares no versions: each
version gives it its facts.
"""

from __future__ import annotations
