"""Reading and writing files for agents, within folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import acp
from acp import kit
from acp.v1 import schema


def read(path: Any, **members: Any) -> schema.ReadTextFileRequest:
    return schema.ReadTextFileRequest(session_id="s", path=str(path), **members)


def write(path: Any, content: str) -> schema.WriteTextFileRequest:
    return schema.WriteTextFileRequest(session_id="s", path=str(path), content=content)


async def refused(work: Any) -> acp.RequestError:
    with pytest.raises(acp.RequestError) as caught:
        await work
    return caught.value


async def test_a_file_is_read_whole_or_by_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\nthree", "utf-8")
    files = kit.FileAccess(tmp_path)
    assert await files.read_text_file(read(file)) == {"content": "one\ntwo\nthree"}
    assert await files.read_text_file(read(file, line=2)) == {"content": "two\nthree"}
    assert await files.read_text_file(read(file, line=2, limit=1)) == {"content": "two\n"}
    assert await files.read_text_file(read(file, limit=0)) == {"content": ""}
    assert await files.read_text_file(read(file, line=9)) == {"content": ""}


async def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    files = kit.FileAccess([tmp_path])
    await files.write_text_file(write(tmp_path / "new.txt", "long text"))
    await files.write_text_file(write(tmp_path / "new.txt", "é"))
    assert (tmp_path / "new.txt").read_bytes() == "é".encode()


@pytest.mark.parametrize("way", ["beside", "dots", "link", "linked folder", "prefix"])
async def test_no_path_leads_out_of_the_folders(tmp_path: Path, way: str) -> None:
    inside, outside = tmp_path / "in", tmp_path / "in-secret"
    inside.mkdir()
    outside.mkdir()
    secret = outside / "secret.txt"
    secret.write_text("secret", "utf-8")
    if way == "link":
        (inside / "link").symlink_to(secret)
    if way == "linked folder":
        (inside / "folder").symlink_to(outside)
    path = {
        "beside": secret,
        "dots": f"{inside}/../in-secret/secret.txt",
        "link": inside / "link",
        "linked folder": inside / "folder" / "secret.txt",
        "prefix": f"{inside}-secret/secret.txt",
    }[way]
    files = kit.FileAccess(inside)
    error = await refused(files.read_text_file(read(path)))
    assert error.code == -32602
    assert "secret" not in str(error.data)
    assert (await refused(files.write_text_file(write(path, "x")))).code == -32602
    assert secret.read_text("utf-8") == "secret"


@pytest.mark.parametrize("path", ["relative.txt", "", "\0", "/\0"])
async def test_what_is_no_absolute_path_is_refused(tmp_path: Path, path: str) -> None:
    assert (await refused(kit.FileAccess(tmp_path).read_text_file(read(path)))).code == -32602


async def test_what_is_no_readable_text_is_refused(tmp_path: Path) -> None:
    files = kit.FileAccess(tmp_path, max_bytes=10)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "long").write_bytes(b"x" * 11)
    assert (await refused(files.read_text_file(read(tmp_path / "none")))).code == -32002
    assert (await refused(files.read_text_file(read(tmp_path)))).code == -32002
    assert (await refused(files.read_text_file(read(tmp_path / "bytes")))).code == -32603
    assert (await refused(files.read_text_file(read(tmp_path / "long")))).code == -32603
    assert (await refused(files.read_text_file(read(tmp_path / "long", limit=1)))).code == -32603
    assert (await refused(files.write_text_file(write(tmp_path / "w", "x" * 11)))).code == -32603
    assert not (tmp_path / "w").exists()


async def test_a_pipe_is_not_read_for_ever(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert (await refused(kit.FileAccess(tmp_path).read_text_file(read(tmp_path / "pipe")))).code


async def test_files_that_may_not_be_written_stay(tmp_path: Path) -> None:
    files = kit.FileAccess(tmp_path, writable=False)
    assert (await refused(files.write_text_file(write(tmp_path / "w", "x")))).code == -32603
    assert not (tmp_path / "w").exists()


async def test_each_session_may_have_folders_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a").write_text("mine", "utf-8")
    (tmp_path / "b").write_text("other", "utf-8")
    files = kit.FileAccess(lambda session_id: [tmp_path / session_id])
    assert await files.read_text_file(read(tmp_path / "s" / "a")) == {"content": "mine"}
    assert (await refused(files.read_text_file(read(tmp_path / "b")))).code == -32602
