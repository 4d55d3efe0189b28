"""Policies that many applications need, on the public surface alone.

Owns nothing that a connection needs: each module here could have been written by a user.
"""

from __future__ import annotations
