"""What is asked of the objects of version 2: permissions, options, capabilities, the smaller ones.

One test for each sentence of the second list of wishes that says how the wire looks; the sentence
is the docstring.
"""

from __future__ import annotations

from typing import Any

import pytest

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import ValidationError, encode
from tests.v2.wire import read, update, written

# Permissions.


@pytest.mark.parametrize(
    ("subject", "cls"),
    [
        (
            {"type": "tool_call", "toolCall": {"toolCallId": "c", "title": None}},
            v2.ToolCallPermissionSubject,
        ),
        (
            {"type": "command", "command": "rm -r x", "cwd": "/", "toolCallId": "c"},
            v2.CommandPermissionSubject,
        ),
        ({"type": "_acme.site", "url": "https://x", "deep": [None]}, v2.OtherPermissionSubject),
        ({"type": "network"}, v2.OtherPermissionSubject),
    ],
)
def test_a_permission_has_a_subject_that_is_kept_whole(subject: Any, cls: type[Any]) -> None:
    """Permission subjects are a union that preserves unknown payloads verbatim."""
    data = {
        "sessionId": "s",
        "title": "May I?",
        "subject": subject,
        "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}],
    }
    request = read("RequestPermissionRequest", data)
    assert type(request.subject) is cls
    assert written(request, "RequestPermissionRequest") == data


@pytest.mark.parametrize("subject", [{"type": "tool_call"}, {"type": "command", "command": "x"}])
def test_a_malformed_subject_of_a_known_kind_is_not_read_as_an_unknown_one(subject: Any) -> None:
    """C-285: a malformed known discriminator must not fall through to the unknown one."""
    with pytest.raises(ValidationError):
        read("RequestPermissionSubject", subject)


# Configuration options.

OPTIONS = [
    {"type": "boolean", "name": "n", "currentValue": True},
    {
        "type": "select",
        "name": "n",
        "currentValue": "a",
        "options": [{"value": "a", "name": "A"}],
    },
]
NAMES = {1: "id", 2: "configId"}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("spelling", ["id", "configId"])
@pytest.mark.parametrize("option", OPTIONS, ids=["boolean", "select"])
def test_an_option_is_read_with_either_name_of_its_id(
    version: int, spelling: str, option: dict[str, Any]
) -> None:
    """Reads accept both shapes while writes select the negotiated wire field, keeping a version 1
    peer from seeing version 2 fields and the reverse."""
    read_option = read("SessionConfigOption", {spelling: "c", **option}, version=version)
    assert getattr(read_option, {1: "id", 2: "config_id"}[version]) == "c"
    out = written(read_option, "SessionConfigOption", version=version)
    assert out == {NAMES[version]: "c", **option}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("order", [("id", "configId"), ("configId", "id")])
def test_where_both_names_are_there_the_own_one_counts(
    version: int, order: tuple[str, str]
) -> None:
    """Reads accept both shapes; the member that the version has is the id, wherever it stands."""
    both = {name: name for name in order}
    option = read("SessionConfigOption", {**both, **OPTIONS[0]}, version=version)
    assert written(option, "SessionConfigOption", version=version) == {
        NAMES[version]: NAMES[version],
        **OPTIONS[0],
    }


@pytest.mark.parametrize("order", [("id", "configId"), ("configId", "id")])
def test_an_option_of_an_unknown_kind_keeps_a_member_of_the_other_name(
    order: tuple[str, str],
) -> None:
    """Unknown payloads are preserved verbatim."""
    data = {**{name: name for name in order}, "type": "_acme.slider", "name": "n", "max": 9}
    assert written(read("SessionConfigOption", data), "SessionConfigOption") == data


def test_the_last_of_several_members_of_the_other_name_counts() -> None:
    """Reads accept both shapes, by the rules that hold for every member."""
    both = '{"type":"boolean","name":"n","currentValue":true,"id":"a","id":"b"}'
    assert v2.SessionConfigOptionBoolean.model_validate_json(both).config_id == "b"


def test_the_id_of_an_option_can_be_given_by_either_name() -> None:
    """Version 2 config options rename `id` to `configId`."""
    made = v2.SessionConfigOptionBoolean(config_id="c", name="n", current_value=True)
    members: dict[str, Any] = {"id": "c", "name": "n", "current_value": True}
    assert made == v2.SessionConfigOptionBoolean(**members)
    assert encode(made) == b'{"type":"boolean","currentValue":true,"configId":"c","name":"n"}'
    old: Any = v1.SessionConfigOptionBoolean(id="c", name="n", current_value=True)
    assert old.configId == old.id == "c"


# Capabilities.


@pytest.mark.parametrize(
    ("cls", "path"),
    [
        ("AgentCapabilities", ("session", "prompt", "image")),
        ("AgentCapabilities", ("session", "delete")),
        ("AgentCapabilities", ("session", "mcp", "http")),
        ("ClientCapabilities", ("auth", "terminal")),
        ("ClientCapabilities", ("elicitation", "form")),
        ("ToolCallCapabilities", ("cancel",)),
        ("TerminalCapabilities", ("cancel",)),
    ],
)
@pytest.mark.parametrize(
    ("value", "supported"),
    [({}, True), ({"_meta": {"a": 1}}, True), (None, False), (True, False), (1, False)],
)
def test_a_capability_is_an_object_or_is_not_there(
    cls: str, path: tuple[str, ...], value: Any, supported: bool
) -> None:
    """Capabilities are object markers: an object, also an empty one, means supported; absence and
    null do not, nor does the boolean of version 1."""
    data: Any = value
    for name in reversed(path):
        data = {name: data}
    found: Any = read(cls, data)
    for name in path:
        found = getattr(found, name)
    assert (found is not None) is supported
    out: Any = written(read(cls, data), cls)
    for name in path[:-1]:
        out = out[name]
    assert out == ({path[-1]: value} if supported else {})


# Icons, commands, cursors, plans.


def test_a_resource_has_icons() -> None:
    """Icons: a malformed one is left out, an unknown theme is kept."""
    good = {
        "src": "https://x/i.png",
        "mimeType": "image/png",
        "sizes": ["48x48", "any"],
        "theme": "_acme.sepia",
    }
    data = {"type": "resource_link", "name": "n", "uri": "file:///x", "icons": [good, {}, 5]}
    link = read("ContentBlock", data)
    assert [icon.theme for icon in link.icons] == ["_acme.sepia"]
    assert written(link, "ContentBlock") == data | {"icons": [good]}


@pytest.mark.parametrize("cursor", ["", " a=1&b ", "null", "\u0000\u2028é", "0" * 5000])
def test_a_cursor_is_any_string_and_is_given_back_as_it_is(cursor: str) -> None:
    """Session cursors are opaque."""
    page = read("ListSessionsResponse", {"sessions": [], "nextCursor": cursor})
    following = v2.ListSessionsRequest(cursor=page.next_cursor)
    assert written(following, "ListSessionsRequest") == {"cursor": cursor}


@pytest.mark.parametrize(
    "cursor", [{"type": "start"}, {"type": "_acme.after", "at": {"n": None}}, {"type": "message"}]
)
def test_a_replay_cursor_of_an_unknown_kind_is_kept(cursor: dict[str, Any]) -> None:
    """Session cursors are opaque, also the one from which a replay starts."""
    data = {"sessionId": "s", "cwd": "/", "replayFrom": cursor}
    assert written(read("ResumeSessionRequest", data), "ResumeSessionRequest") == data


@pytest.mark.parametrize("cursor", ["start", 5, {}, {"type": None}])
def test_a_malformed_replay_cursor_is_refused(cursor: Any) -> None:
    """Replay cursors are acted on: a bad one is an error, and is not read as another."""
    with pytest.raises(ValidationError, match="replayFrom"):
        read("ResumeSessionRequest", {"sessionId": "s", "cwd": "/", "replayFrom": cursor})


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"type": "text", "hint": "what"}, {"type": "text", "hint": "what"}),
        ({"type": "_acme.form", "fields": [1, None]}, {"type": "_acme.form", "fields": [1, None]}),
        ({"hint": "what"}, None),
        ({"type": "text"}, None),
        (None, None),
    ],
)
def test_the_input_of_a_command_is_text_or_an_unknown_kind(given: Any, kept: Any) -> None:
    """Text command input; unknown kinds are kept, and what cannot be read leaves the command."""
    command = {"type": "command", "name": "n", "description": "d", "input": given}
    (found,) = update("available_commands_update", availableCommands=[command]).available_commands
    assert written(found, "AvailableCommand").get("input") == kept


@pytest.mark.parametrize(
    ("plan", "cls"),
    [
        (
            {
                "type": "items",
                "planId": "p",
                "entries": [{"content": "c", "priority": "_acme.x", "status": "cancelled"}],
            },
            v2.PlanUpdateItems,
        ),
        (
            {"type": "markdown", "planId": "p", "content": "# c", "path": "/p.md"},
            v2.PlanUpdateMarkdown,
        ),
        (
            {"type": "_acme.gantt", "planId": "p", "rows": [[1, None]]},
            v2.OtherPlanUpdateContent,
        ),
    ],
)
def test_a_plan_is_kept_whole_whatever_its_kind(plan: dict[str, Any], cls: type[Any]) -> None:
    """Plan content is a union that preserves unknown payloads verbatim."""
    made = update("plan_update", plan=plan)
    assert type(made.plan) is cls
    assert written(made, "SessionUpdate") == {"sessionUpdate": "plan_update", "plan": plan}


def test_a_command_of_version_1_is_none_of_version_2() -> None:
    """In version 2 a command tells its kind, and the kind of its input."""
    old = {"name": "n", "description": "d", "input": {"hint": "what"}}
    assert type(read("AvailableCommand", old, version=1)) is v1.AvailableCommand
    assert update("available_commands_update", availableCommands=[old]).available_commands == []
    kept = update("available_commands_update", availableCommands=[old | {"type": "_acme.macro"}])
    assert [type(found) for found in kept.available_commands] == [v2.OtherAvailableCommand]
