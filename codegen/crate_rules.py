"""Facts that the JSON Schema does not carry, read off the Rust source of the official crate.

Owns the comparison of `schema/rules.json` with a release. Must not know: the IR.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from codegen.facts import SCHEMA

COMPARED = ("three_state", "null_payload")


def camel(name: str) -> str:
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part.capitalize() for part in rest)


def facts(crate: Path, version: str) -> dict[str, Any]:
    """Three-state members by struct, and the structs that read null as an empty object."""
    three_state: dict[str, list[str]] = {}
    null_payload: set[str] = set()
    for path in sorted((crate / "src" / version).glob("*.rs")):
        text = re.sub(
            r"#\[cfg\(test\)\]\nmod \w+ \{.*?\n\}\n", "", path.read_text(), flags=re.DOTALL
        )
        text = re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE)
        null_payload.update(
            re.findall(r"default_on_null! \{.*?pub struct (\w+)", text, flags=re.DOTALL)
        )
        for struct, body in re.findall(
            r"pub struct (\w+) \{\n(.*?)\n\s*\}\n", text, flags=re.DOTALL
        ):
            attributes = ""
            for line in body.split("\n"):
                member = re.match(r"\s*pub (\w+): (.*),$", line)
                if not member:
                    attributes += line
                    continue
                renamed = re.search(r'rename = "([^"]+)"', attributes)
                if member.group(2).startswith("MaybeUndefined<"):
                    wire = renamed.group(1) if renamed else camel(member.group(1))
                    three_state.setdefault(struct, []).append(wire)
                attributes = ""
    return {
        "three_state": {k: sorted(v) for k, v in sorted(three_state.items())},
        "null_payload": sorted(null_payload),
    }


def differences(crate: Path) -> list[str]:
    """A line for each rule that the crate and `rules.json` tell differently."""
    rules = json.loads((SCHEMA / "rules.json").read_text())
    found = {version: facts(crate, version) for version in ("v1", "v2")}
    return [
        f"{version} {key}: {rules[version][key]} in rules.json, {said[key]} in the crate"
        for version, said in found.items()
        for key in COMPARED
        if rules[version][key] != said[key]
    ]
