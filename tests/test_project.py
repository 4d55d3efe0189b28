"""What holds for the tree as a whole: lengths, names, docstrings, purity of the core, versions."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from acp import _core
from tools import tomls

ROOT = Path(__file__).resolve().parent.parent
LIMITS = {".py": 400, ".pyi": 400, ".rs": 600}
MOST_LARGE_FILES = 5
GENERATED = (
    "rust/acp-core/src/schema/generated/",
    "python/acp/_schema/v1/",
    "python/acp/_schema/v2/",
    "python/acp/meta.py",
    "python/acp/schema.py",
    "python/acp/v1/_handlers.py",
    "python/acp/v1/_requests.py",
    "python/acp/v1/schema.py",
    "python/acp/v2/_handlers.py",
    "python/acp/v2/_requests.py",
    "python/acp/v2/schema.py",
)
VERBS = (
    *("setup", "demo", "test", "lint", "gen", "interop", "compat", "wheel", "bench"),
    *("downstream", "reliability", "docs"),
)

BANNED = re.compile(r"(?:^|_)(?:managers?|utils?|helpers?|engine|misc)(?:_|$)|handle_message")
# As verbs, which functions are named by; a class may be about a process.
BANNED_VERBS = re.compile(r"^_*(?:process|do)_")
# Names that the drop-in surface or the design gives.
GIVEN = {"helpers", "utils", "process_transport"}


def tracked(*patterns: str) -> list[str]:
    """Files of the project that match, those not yet added included."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted({name for name in listed.splitlines() if (ROOT / name).is_file()})


def hand_written(*patterns: str) -> list[str]:
    return [name for name in tracked(*patterns) if not name.startswith(GENERATED)]


def words(name: str) -> str:
    """`name` in snake case, whatever case it has."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def large_files() -> dict[str, str]:
    rows = tomls.read(ROOT / "docs" / "large-files.toml").get("file", [])
    return {row["path"]: row["reason"] for row in rows}


def test_files_longer_than_their_limit_are_at_most_five_and_each_has_a_reason() -> None:
    long = {
        name
        for name in hand_written("*.py", "*.pyi", "*.rs")
        if (ROOT / name).read_text("utf-8").count("\n") > LIMITS[Path(name).suffix]
    }
    listed = large_files()
    assert long == set(listed), "docs/large-files.toml does not tell what the tree holds"
    assert len(listed) <= MOST_LARGE_FILES
    assert all(len(reason.split()) >= 5 for reason in listed.values())


def test_every_python_module_says_what_it_owns() -> None:
    without = [
        name
        for name in hand_written("*.py", "*.pyi")
        if (text := (ROOT / name).read_text("utf-8")).strip()
        and ast.get_docstring(ast.parse(text)) is None
    ]
    assert without == []


def test_every_rust_module_says_what_it_owns() -> None:
    without = [
        name
        for name in hand_written("rust/*.rs")
        if not re.search(r"^//! \S", (ROOT / name).read_text("utf-8"), re.MULTILINE)
    ]
    assert without == []


def is_banned(name: str) -> bool:
    """Whether a name says less than the thing is. Functions begin with a small letter."""
    verb = not name.lstrip("_")[:1].isupper() and BANNED_VERBS.search(name)
    return bool(verb or BANNED.search(words(name)))


def is_test(name: str) -> bool:
    """Whether `name` is a sentence about behaviour, which may be about anything."""
    return name.startswith("test_")


def defined_in_python(text: str) -> set[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)}


def defined_in_rust(text: str) -> set[str]:
    return set(re.findall(r"\b(?:fn|struct|enum|trait|mod|type|const|static) ([A-Za-z_]\w*)", text))


@pytest.mark.parametrize(
    ("name", "banned"),
    [
        ("SessionManager", True),
        ("text_utils", True),
        ("process_frame", True),
        ("do_send", True),
        ("handle_message", True),
        ("in_process_peer", False),
        ("undo_step", False),
        ("ProcessTransport", False),
        ("router", False),
    ],
)
def test_the_rule_for_names_tells_banned_ones(name: str, banned: bool) -> None:
    assert is_banned(name) is banned


def test_no_name_says_less_than_what_the_thing_is() -> None:
    found: set[str] = set()
    for file in hand_written("*.py", "*.pyi", "*.rs"):
        text = (ROOT / file).read_text("utf-8")
        names = defined_in_rust(text) if file.endswith(".rs") else defined_in_python(text)
        names.add(Path(file).stem)
        found |= {
            f"{file}: {name}" for name in names - GIVEN if is_banned(name) and not is_test(name)
        }
    assert found == set()


def test_the_core_reaches_nothing_outside_itself() -> None:
    outside = re.compile(
        r"\bstd::(?:fs|net|thread|env|time|process|os)\b|\bstd(?:in|out|err)\(|\bpyo3\b|\blog::"
    )
    reaching = [
        name
        for name in tracked("rust/acp-core/src/*.rs")
        if outside.search(re.sub(r"//.*", "", (ROOT / name).read_text("utf-8")))
    ]
    assert reaching == []
    assert "forbid(unsafe_code)" in (ROOT / "rust/acp-core/src/lib.rs").read_text("utf-8")


def test_every_unsafe_block_has_its_reason() -> None:
    without: list[str] = []
    for name in tracked("rust/*.rs"):
        lines = (ROOT / name).read_text("utf-8").splitlines()
        for number, line in enumerate(lines):
            code = line.split("//")[0]
            if not re.search(r"\bunsafe\s*(?:\{|impl\b)", code):
                continue
            # The comment stands above the statement that holds the block.
            before = lines[max(0, number - 6) : number + 1]
            if not any("SAFETY:" in text for text in before):
                without.append(f"{name}:{number + 1}")
    assert without == []


def test_both_halves_carry_the_version_of_the_workspace() -> None:
    workspace = tomls.read(ROOT / "Cargo.toml")["workspace"]["package"]["version"]
    assert _core.__version__ == workspace
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"## {workspace}" in changes or "## Unreleased" in changes


def test_every_verb_of_the_makefile_can_be_planned() -> None:
    for verb in VERBS:
        done = subprocess.run(
            ["make", "--dry-run", verb], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (verb, done.stderr)


def test_the_package_tells_type_checkers_that_it_is_typed() -> None:
    package = Path(_core.__file__ or "").parent
    assert (package / "py.typed").is_file()
    assert (package / "_core.pyi").is_file()


def test_importing_acp_loads_neither_pydantic_nor_asyncio_nor_version_2() -> None:
    code = (
        "import sys, acp; "
        "print(*(n for n in ('pydantic', 'asyncio', 'anyio', 'acp.v2') if n in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.split() == []
