"""`acp shim`: the wheel that stands in for the official SDK."""

from __future__ import annotations

import base64
import csv
import email
import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import acp_doctor
from acp._cli.shim import build_shim


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return build_shim(tmp_path / "not" / "there")


def texts(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_the_wheel_has_no_files_but_its_metadata(wheel: Path) -> None:
    folders = {name.split("/")[0] for name in texts(wheel)}
    assert folders == {f"agent_client_protocol-{acp_doctor.SHIM_VERSION}.dist-info"}
    assert wheel.name == f"agent_client_protocol-{acp_doctor.SHIM_VERSION}-py3-none-any.whl"


def test_the_metadata_says_what_it_is_and_requires_this_library(wheel: Path) -> None:
    (text,) = (text for name, text in texts(wheel).items() if name.endswith("/METADATA"))
    metadata = email.message_from_string(text)
    assert metadata["Name"] == "agent-client-protocol"
    assert metadata["Version"] == "0.12.1+native"
    requires = metadata.get_all("Requires-Dist", [])
    assert requires[0] == "acp-native"
    assert set(metadata.get_all("Provides-Extra", [])) == {"http", "logfire"}
    assert 'acp-native[http]; extra == "http"' in requires
    assert "Stands in for the official SDK" in metadata["Summary"]
    assert "acp shim" in metadata.get_payload()


def test_the_record_is_right(wheel: Path) -> None:
    files = texts(wheel)
    (record,) = (name for name in files if name.endswith("/RECORD"))
    rows = list(csv.reader(files[record].splitlines()))
    assert {row[0] for row in rows} == set(files)
    for name, digest, size in rows:
        if name != record:
            found = hashlib.sha256(files[name].encode()).digest()
            assert digest == "sha256=" + base64.urlsafe_b64encode(found).rstrip(b"=").decode()
            assert int(size) == len(files[name].encode())


def test_the_same_bytes_are_written_every_time(wheel: Path, tmp_path: Path) -> None:
    first = wheel.read_bytes()
    os.utime(wheel, (1, 1))
    again = subprocess.run(
        [sys.executable, "-m", "acp", "shim", "--out", str(wheel.parent)],
        env={**os.environ, "TZ": "Asia/Tokyo", "SOURCE_DATE_EPOCH": "1700000000"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert again.stdout.strip() == str(wheel)
    assert wheel.read_bytes() == first
    assert build_shim(tmp_path).read_bytes() == first


def test_the_command_writes_into_the_folder_where_it_is_run(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "acp", "shim"], cwd=tmp_path, timeout=50, check=False
    )
    assert done.returncode == 0
    assert [file.name for file in tmp_path.iterdir()] == [acp_doctor.SHIM_WHEEL]


def test_a_folder_that_cannot_be_made_is_told_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "acp", "shim", "--out", str(tmp_path / "file" / "x")],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Not a directory" in done.stderr


def test_installers_read_it_without_an_index(wheel: Path) -> None:
    """What is installed of it satisfies a pin of the official version, as `pip` sees versions."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--no-index"]
    done = subprocess.run(
        [*command, "--find-links", str(wheel.parent), "agent-client-protocol[http]==0.12.1"],
        env={**os.environ, "PIP_FIND_LINKS": ""},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Would install agent-client-protocol-0.12.1+native" in done.stdout
