"""What is asked of the objects of version 2: terminals, changes of files, content of tool calls.

One test for each sentence of the second list of wishes that says how the wire looks; the sentence
is the docstring.
"""

from __future__ import annotations

import base64
from typing import Any

import pytest

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import UNSET, ValidationError
from acp._schema.v1.methods import METHODS as V1
from acp._schema.v2.methods import METHODS as V2
from acp.v2 import SessionProjection, apply_update
from tests.v2.wire import params, read, text, update, written

# Terminals.


def test_a_client_of_version_2_runs_no_terminals() -> None:
    """The client no longer creates, waits on, kills or releases terminals: the agent owns them and
    reports them in two updates, in place of the whole surface that version 1 clients have."""
    assert {m.wire for m in V1 if m.side == "client" and m.wire.startswith("terminal/")} == {
        "terminal/create",
        "terminal/output",
        "terminal/wait_for_exit",
        "terminal/kill",
        "terminal/release",
    }
    assert not [m for m in V2 if m.side == "client" and m.wire.startswith("terminal/")]
    assert type(update("terminal_update", terminalId="t")) is v2.TerminalUpdate
    chunk = update("terminal_output_chunk", terminalId="t", data="")
    assert type(chunk) is v2.TerminalOutputChunk


def test_the_terminal_requests_of_version_1_are_there_and_are_no_part_of_version_2() -> None:
    """The version 1 request types stay public; the split is a fact of its own."""
    for name in ("Create", "Kill", "Release", "WaitFor"):
        name += {"WaitFor": "TerminalExit"}.get(name, "Terminal") + "Request"
        assert hasattr(v1, name), name
        assert not hasattr(v2, name), name


PIECES = [b"\xe2\x9c", b"\x93\n", b"", b"done\x00\xff"]


def test_each_piece_of_output_is_base64_of_its_own() -> None:
    """Output chunks are independently base64-encoded: joining the base64 text gives another result
    than decoding each chunk."""
    encoded = [base64.b64encode(piece).decode() for piece in PIECES]
    projection = SessionProjection("s")
    for data in encoded:
        chunk = {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": data}
        assert projection.apply(params(chunk))
    terminal = projection.get("terminal", "t")
    assert terminal is not None
    assert terminal.output == b"".join(PIECES)
    assert terminal.text == "✓\ndone\x00�"
    assert base64.b64decode("".join(encoded)) != terminal.output


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("command", "ls"),
        ("cwd", "/tmp"),
        ("output", {"data": "aGk="}),
        ("exitStatus", {"exitCode": 1}),
        ("size", {"cols": 80, "rows": 24}),
        ("capabilities", {"cancel": {}}),
    ],
)
def test_members_of_a_terminal_are_absent_null_or_a_value(member: str, value: Any) -> None:
    """Terminal patch fields get the treatment of whole messages: absent means leave unchanged,
    null means clear."""
    name = {"exitStatus": "exit_status"}.get(member, member)
    stored = update("terminal_update", terminalId="t", **{member: value})
    kept = getattr(stored, name)
    assert kept not in (UNSET, None)
    apply_update(stored, update("terminal_update", terminalId="t"))
    assert getattr(stored, name) == kept
    apply_update(stored, update("terminal_update", terminalId="t", **{member: None}))
    assert getattr(stored, name) is None
    apply_update(stored, update("terminal_update", terminalId="t", **{member: value}))
    assert getattr(stored, name) == kept
    assert written(stored, "SessionUpdate")[member] == value


@pytest.mark.parametrize(
    ("members", "exited"),
    [
        ({"exitStatus": {}}, True),
        ({"exitStatus": {"exitCode": None, "signal": 5}}, True),
        ({"exitStatus": {"signal": "SIGKILL"}}, True),
        ({"exitStatus": None}, False),
        ({"exitStatus": 0}, False),
        ({}, False),
    ],
)
def test_an_empty_exit_status_says_that_the_terminal_has_exited(
    members: dict[str, Any], exited: bool
) -> None:
    """An empty exit status object still marks the terminal as exited."""
    projection = SessionProjection("s")
    projection.apply(params({"sessionUpdate": "terminal_update", "terminalId": "t", **members}))
    terminal = projection.get("terminal", "t")
    assert terminal is not None
    assert terminal.exited is exited


def test_an_empty_exit_status_is_written() -> None:
    """An empty exit status object still marks the terminal as exited, also for the next reader."""
    status = v2.TerminalUpdate(terminal_id="t", exit_status=v2.TerminalExitStatus())
    assert written(status, "SessionUpdate")["exitStatus"] == {}


# Changes of files.

CHANGES = [
    {"operation": "add", "path": "/a", "fileType": "text", "mimeType": "text/plain"},
    {"operation": "delete", "path": "/b", "fileType": "directory"},
    {"operation": "modify", "path": "/c", "fileType": "binary"},
    {"operation": "move", "oldPath": "/d", "path": "/e"},
    {"operation": "copy", "oldPath": "/f", "path": "/g", "fileType": "symlink"},
    {"operation": "_acme.chmod", "path": "/h", "mode": 493, "was": None},
]


def test_a_diff_tells_of_any_number_of_files_of_any_kind() -> None:
    """The structured diff replaces the flat one, which could only describe one modified text
    file."""
    data = {"type": "diff", "changes": CHANGES}
    diff = read("ToolCallContent", data)
    assert [change.operation for change in diff.changes] == [each["operation"] for each in CHANGES]
    assert written(diff, "ToolCallContent") == data


FLAT: dict[str, Any] = {"type": "diff", "path": "/p", "oldText": "a", "newText": "b"}
SHAPES: list[tuple[dict[str, Any], type[Any]]] = [
    ({"type": "diff", "changes": []}, v2.FileEditToolCallContent),
    (FLAT, v2.FlatDiffToolCallContent),
    (FLAT | {"changes": []}, v2.FileEditToolCallContent),
    ({"changes": [], **FLAT}, v2.FileEditToolCallContent),
]


@pytest.mark.parametrize(("data", "cls"), SHAPES)
def test_a_changes_array_makes_the_diff_of_version_2(data: dict[str, Any], cls: Any) -> None:
    """Both shapes use the same discriminator, so they are told apart by structure: a changes array
    means version 2."""
    assert type(read("ToolCallContent", data)) is cls


def test_a_diff_of_the_other_shape_is_written_as_it_was_read() -> None:
    """Both shapes use the same discriminator."""
    assert written(read("ToolCallContent", FLAT), "ToolCallContent") == FLAT


@pytest.mark.parametrize("bad", [7, None, {}, {"operation": "add"}, {"path": "/p"}, "add"])
def test_a_malformed_change_is_skipped_and_its_siblings_stay(bad: Any) -> None:
    """Malformed change items are skipped rather than failing the whole diff alongside its valid
    siblings."""
    diff = read("ToolCallContent", {"type": "diff", "changes": [CHANGES[0], bad, CHANGES[3]]})
    assert [change.path for change in diff.changes] == ["/a", "/e"]


@pytest.mark.parametrize("changes", [None, 5, {"0": CHANGES[0]}])
def test_changes_that_are_no_array_are_no_diff(changes: Any) -> None:
    """A malformed known shape is an error and falls through neither to the other shape nor to the
    unknown ones."""
    with pytest.raises(ValidationError, match="changes"):
        read("ToolCallContent", {"type": "diff", "changes": changes})


GIT = "diff --git /a /a\n--- /dev/null\n+++ /a\n@@ -0,0 +1 @@\n+caf\u00e9\r\n"


def test_a_git_patch_is_kept_letter_by_letter() -> None:
    """A patch in the format `git_patch` is text beside the changes, which tell of the files
    without it."""
    data = {"type": "diff", "changes": CHANGES[:1], "patch": {"format": "git_patch", "text": GIT}}
    diff = read("ToolCallContent", data)
    assert (diff.patch.format, diff.patch.text) == ("git_patch", GIT)
    assert written(diff, "ToolCallContent") == data


@pytest.mark.parametrize("patch", [None, 5, {}, {"format": "git_patch"}, {"text": GIT}, "git"])
def test_a_diff_without_a_patch_that_can_be_read_has_its_changes(patch: Any) -> None:
    """The changes are what counts; a patch that is missing or malformed costs only itself."""
    diff = read("ToolCallContent", {"type": "diff", "changes": CHANGES[:1], "patch": patch})
    assert diff.patch is None
    assert [change.path for change in diff.changes] == ["/a"]


def test_a_patch_of_another_format_is_kept() -> None:
    """`git_patch` is the only format that the protocol defines; others are kept verbatim."""
    patch = {"format": "_acme.ed", "text": "1d\n.\n"}
    diff = read("ToolCallContent", {"type": "diff", "changes": [], "patch": patch})
    assert written(diff, "ToolCallContent")["patch"] == patch


# Content of tool calls.


def item(words: str) -> dict[str, Any]:
    return {"type": "content", "content": text(words)}


def test_a_content_chunk_appends_and_an_update_replaces() -> None:
    """A content chunk appends one item, unlike the content array of an update, which replaces."""
    projection = SessionProjection("s")

    def content() -> list[str]:
        call = projection.get("tool_call", "c")
        assert call is not None
        return [each["content"]["text"] for each in written(call, "ToolCallUpdate")["content"]]

    for words in ("a", "b"):
        chunk = {
            "sessionUpdate": "tool_call_content_chunk",
            "toolCallId": "c",
            "content": item(words),
        }
        projection.apply(params(chunk))
    assert content() == ["a", "b"]
    whole = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [item("c")]}
    projection.apply(params(whole))
    assert content() == ["c"]
    projection.apply(params({"sessionUpdate": "tool_call_update", "toolCallId": "c"}))
    assert content() == ["c"]


def test_a_streamed_item_costs_its_own_size_only() -> None:
    """Without chunks, streaming tool output would mean resending everything produced so far."""
    chunk = update("tool_call_content_chunk", toolCallId="c", content=item("x"))
    assert type(chunk.content) is v2.ContentToolCallContent
    assert written(chunk, "SessionUpdate") == {
        "sessionUpdate": "tool_call_content_chunk",
        "toolCallId": "c",
        "content": item("x"),
    }
