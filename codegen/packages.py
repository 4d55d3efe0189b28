"""The packages that the schema objects are in, as Python source.

Owns: where a module of objects is, the `__init__` modules of `python/acp/_schema`, which give the
objects to the core, and the public modules that re-export them.
Must not know: what a module of objects says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from codegen.facts import schema_hash
from codegen.layout import MARK, WIDTH, bracketed, from_line
from codegen.model import Record, Version

FOLDER = "python/acp/_schema"
FORMER = "former"
"""The package of what only former releases have, within that of a version."""

_UNIONS = """
AuthMethod ContentBlock CursorAnchor ElicitationPropertySchema EmbeddedResourceResource
InitialSessionConfigOption McpServer MessageMcpResponse MultiSelectItems PlanUpdateContent
RequestId RequestPermissionOutcome SessionConfigOption SessionConfigSelectOptions SessionUpdate
SetSessionConfigOptionRequest StateUpdate ToolCallContent
"""
NO_CLASSES = frozenset(_UNIONS.split())
"""Not in `acp.schema`, since the official SDK has none of these names. Former releases of it had
classes of some: programs look whether they are there, and then call them.
"""


def package(version: Version, former: bool = False) -> str:
    """The package of a version."""
    return f"acp._schema.v{version.number}" + (f".{FORMER}" if former else "")


def module(version: Version, domain: str) -> str:
    """The module of a domain."""
    return f"{package(version, domain in version.former_domains)}.{domain}"


def path(name: str) -> str:
    """The file of a module."""
    return f"python/{name.replace('.', '/')}.py"


def root() -> str:
    """The package of all versions."""
    return (
        '"""The generated objects of each protocol version.\n\n'
        "Owns the digest of the facts that they were made from. "
        "Importing this package imports no version.\n\n"
        f'{MARK}\n"""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import Final\n\n"
        '__all__ = ["SCHEMA_HASH"]\n\n'
        f'SCHEMA_HASH: Final = "{schema_hash()}"\n'
        '"""Digest of the facts; the extension carries the same one."""\n'
    )


def files(version: Version, home: Mapping[str, str]) -> dict[str, str]:
    """The packages and public modules of a version; `home` has the domain of each exported name."""
    former = {n for n, d in home.items() if d in version.former_domains}
    out = {path(f"{package(version)}.__init__"): _package(version, home, former, of_former=False)}
    if former:
        name = f"{package(version, former=True)}.__init__"
        out[path(name)] = _package(version, home, former, of_former=True)
    for name in _public(version):
        out[path(name)] = _export(name, version, {*home}, former)
    return out


def _package(
    version: Version, home: Mapping[str, str], former: set[str], *, of_former: bool
) -> str:
    groups: dict[str, list[str]] = {}
    for name, domain in sorted(home.items()):
        if (name in former) is of_former:
            groups.setdefault(module(version, domain), []).append(name)
    records = [r for r in version.records if (r.name in former) is of_former]
    what = f"The objects of protocol version {version.number}"
    if of_former:
        what += " that only former releases have"
        about = [f'"""{what}.', "", "No method has them. Importing this gives them to the core."]
    else:
        about = [f'"""{what}; importing this gives them to the core.']
    own = sorted(n for n in home if (n in former) is of_former)
    return "\n".join(
        [
            *about,
            "",
            MARK,
            '"""',
            "",
            "from __future__ import annotations",
            "",
            "from typing import TYPE_CHECKING, Final",
            "",
            "from acp import _core",
            "from acp._schema import SCHEMA_HASH",
            *(from_line(d, n) for d, n in sorted(groups.items())),
            "",
            "if TYPE_CHECKING:",
            "    from acp._schema.base import BaseModel",
            "",
            bracketed("__all__ = [", [f'"{n}"' for n in own], "]"),
            "",
            *_records(records),
            "",
            *(_names(sorted(former)) if former and not of_former else []),
            f"_core.register({version.number}, SCHEMA_HASH, RECORDS"
            + (", former=True)" if of_former else ")"),
            "",
        ]
    )


def _records(records: Iterable[Record]) -> list[str]:
    head = "RECORDS: Final[tuple[type[BaseModel], ...]] = ("
    return [head, *(f"    {r.name}," for r in records), ")"]


def _public(version: Version) -> list[str]:
    return [f"acp.v{version.number}.schema", *(["acp.schema"] if version.number == 1 else [])]


def _export(name: str, version: Version, there: set[str], former: set[str]) -> str:
    about = f"The objects of protocol version {version.number}."
    if name == "acp.schema":
        about += "\n\nThe same classes as in `acp.v1.schema`."
        there = there - NO_CLASSES
    if former:
        about += "\n\nThose that only former releases have are loaded when one is asked for."
    said = sorted([*there, "BaseModel"])
    lines = [f'"""{about}', "", MARK, '"""', "", "from __future__ import annotations", ""]
    own = (there - former) | ({"FORMER"} if former else set())
    imports = ["from acp._schema.base import BaseModel", from_line(package(version), own)]
    if former:
        lines += ["from typing import TYPE_CHECKING", ""]
        imports.insert(0, "from acp._lazy import lazily")
        late = from_line(package(version, former=True), former, "    ")
        imports += ["", "if TYPE_CHECKING:", *late.split("\n")]
    lines += [*imports, "", bracketed("__all__ = [", [f'"{n}"' for n in said], "]")]
    if former:
        table = f'{{"{package(version, former=True)}": FORMER}}'
        lines += ["", f"__getattr__, __dir__ = lazily(__name__, {table}, ())"]
    return "\n".join([*lines, ""])


def _names(names: list[str]) -> list[str]:
    # As one string: a table of strings takes longer to load than one takes to split.
    rows, row = [], ""
    for name in names:
        if len(row) + len(name) + 8 > WIDTH:
            rows.append(row)
            row = ""
        row += name + " "
    said = '"""Names of what only former releases have, which is loaded when one is asked for."""'
    return ["FORMER: Final = (", *(f'    "{r}"' for r in [*rows, row]), ")", said, ""]
