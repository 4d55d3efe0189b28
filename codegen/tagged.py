"""Reading of tagged unions out of a JSON Schema.

Owns how a union, its discriminator and the role of each alternative are recognised.
Must not know the IR.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Node = dict[str, Any]


def ref(node: Any) -> str | None:
    """Name of the definition that a node points at, or None."""
    if not isinstance(node, dict):
        return None
    target = node.get("$ref")
    parts = node.get("allOf")
    if target is None and isinstance(parts, list) and len(parts) == 1:
        target = parts[0].get("$ref")
    return target.rsplit("/", 1)[-1] if target else None


def members(node: Node) -> list[Node]:
    """The alternatives of a node."""
    return node.get("oneOf") or node.get("anyOf") or []


def tag_key(node: Node) -> str | None:
    """The member that tells the alternatives apart, or None when the node is no tagged union."""
    for member in members(node):
        for key, value in member.get("properties", {}).items():
            if isinstance(value, dict) and isinstance(value.get("const"), str):
                return key
    return None


def is_union(node: Node) -> bool:
    return tag_key(node) is not None


def variants(node: Node) -> Iterator[tuple[str, str | None, Node]]:
    """The alternatives as (role, discriminator, node).

    Roles: `tag`, one known discriminator; `other`, every unknown one; `none`, the alternative
    without any member; `else`, the one that has no discriminator.
    """
    key = tag_key(node) or ""
    for member in members(node):
        value = member.get("properties", {}).get(key, {})
        if "const" in value:
            yield "tag", value["const"], member
        elif member.get("title") == "none":
            yield "none", None, member
        elif "not" in member:
            yield "other", None, member
        else:
            yield "else", member.get("title"), member
