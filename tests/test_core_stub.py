"""The stub of the extension tells what is in it."""

from __future__ import annotations

import ast
from pathlib import Path

import acp._core

STUB = Path(acp._core.__file__).parent / "_core.pyi"
# For type checkers only; for pickle only; the binding's own.
STUB_ONLY = {"Event", "Left"}
UNTOLD = {"_restore"}


def stub() -> ast.Module:
    return ast.parse(STUB.read_text("utf-8"))


def told() -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for node in stub().body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
        elif isinstance(node, ast.Assign):
            found |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
    return found


def test_every_name_of_the_extension_is_in_the_stub_and_the_other_way_round() -> None:
    names = {name for name in vars(acp._core) if not name.startswith("__")} | {"__version__"}
    assert names - UNTOLD == told().keys() - STUB_ONLY


def test_every_class_and_function_of_the_stub_says_what_it_is() -> None:
    without = [
        name
        for name, node in told().items()
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not ast.get_docstring(node)
    ]
    assert without == []


def test_every_member_of_a_class_in_the_stub_exists() -> None:
    missing = []
    for name, node in told().items():
        if not isinstance(node, ast.ClassDef):
            continue
        cls = getattr(acp._core, name)
        for member in node.body:
            if isinstance(member, ast.FunctionDef):
                missing += [] if hasattr(cls, member.name) else [f"{name}.{member.name}"]
            elif isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                missing += [] if hasattr(cls, member.target.id) else [f"{name}.{member.target.id}"]
    assert missing == []
