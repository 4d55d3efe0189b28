"""The page about switching: what `make compat` runs of it is all of it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import acp_doctor
from tools import dependent, switching

TEXT = switching.PAGE.read_text("utf-8")
SECTIONS = switching.sections(TEXT)


def test_every_section_with_commands_is_run() -> None:
    ways_back = {title for title in SECTIONS if title.startswith("Back ")}
    there = {title.replace("Back with", "With", 1) for title in ways_back}
    assert there <= {*SECTIONS}
    assert {*SECTIONS} - ways_back <= {*switching.COURSES}


def test_blocks_are_of_kinds_that_are_run() -> None:
    kinds = {block.kind for inside in SECTIONS.values() for block in inside}
    assert kinds == {"sh", "text", "toml"}


def test_the_page_names_the_shim_as_it_is() -> None:
    assert f'"agent-client-protocol=={acp_doctor.SHIM_VERSION}"' in TEXT
    assert f"wheels/{acp_doctor.SHIM_WHEEL}" in TEXT


def test_the_sections_of_a_page_hold_the_blocks_below_their_headings() -> None:
    page = "# A\n\n## One\n\n```sh\na\n```\n\n## Two\n\nText.\n\n## Three\n\n```sh\nb\n```\n"
    found = switching.sections(page)
    assert {title: inside[0].lines for title, inside in found.items()} == {
        "One": ["a"],
        "Three": ["b"],
    }


def test_the_dependent_pins_the_official_sdk_and_has_a_record(tmp_path: Path) -> None:
    with zipfile.ZipFile(dependent.write(tmp_path)) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    record = texts["greeter-1.0.dist-info/RECORD"]
    assert all(f"{name}," in record for name in texts)
    assert "Requires-Dist: agent-client-protocol==0.12.1" in texts["greeter-1.0.dist-info/METADATA"]
