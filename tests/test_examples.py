"""The programs of `examples/`, as processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
TABS = "def answer():\n\treturn 42\n"


def ran(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs an example to its end."""
    command = [sys.executable, str(EXAMPLES / program), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)


def agent(program: str, *arguments: str) -> tuple[str, ...]:
    """The command of an agent that a client starts."""
    return (sys.executable, str(EXAMPLES / program), *arguments)


def edited(folder: Path, file: str, answer: str) -> subprocess.CompletedProcess[str]:
    """The editor has the agent work on a file."""
    return ran("editor.py", str(folder), file, answer, *agent("fixing_agent.py"))


def test_the_agent_changes_a_file_that_it_may_change_and_checks_it(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(TABS, "utf-8")
    run = edited(tmp_path, "answer.py", "yes")
    assert run.stdout.splitlines() == [
        "tool: Replace tabs",
        "you: Replace",
        "tool: completed",
        "tool: Compile",
        "tool: completed",
        "agent: The tabs are gone, and it still compiles.",
        "turn: end_turn",
    ], run.stderr
    assert (tmp_path / "answer.py").read_text("utf-8") == TABS.replace("\t", "    ")


def test_the_agent_tells_what_its_command_found(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text("def answer(:\n\treturn 42\n", "utf-8")
    run = edited(tmp_path, "answer.py", "yes")
    assert run.stdout.splitlines()[-3:] == [
        "tool: failed",
        "agent: The tabs are gone, but it does not compile.",
        "turn: end_turn",
    ], run.stderr


def test_the_agent_leaves_a_file_alone_that_it_may_not_change(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(TABS, "utf-8")
    run = edited(tmp_path, "answer.py", "no")
    assert "agent: Then I leave it as it is." in run.stdout, run.stderr
    assert (tmp_path / "answer.py").read_text("utf-8") == TABS


@pytest.mark.parametrize("file", ["../outside.py", "absent.py"])
def test_the_editor_reads_nothing_outside_its_folder_and_nothing_that_is_not_there(
    tmp_path: Path, file: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "outside.py").write_text(TABS, "utf-8")
    run = edited(folder, file, "yes")
    assert run.returncode != 0
    assert "tool:" not in run.stdout
    assert (tmp_path / "outside.py").read_text("utf-8") == TABS


# Version 2.


def test_one_prompt_of_version_2_is_accepted_answered_and_over() -> None:
    run = ran("v2_one_shot.py", "Hello", *agent("v2_agent.py"))
    assert (run.returncode, run.stdout) == (0, "Hello\n"), run.stderr
    assert run.stderr.splitlines() == [
        "agent: echo-agent",
        "update: user_message",
        "update: state_update",
        "update: agent_message_chunk",
        "update: state_update",
        "accepted as user-2, idle: end_turn",
    ]


def test_an_agent_of_both_versions_is_one_of_version_1_until_version_2_is_switched_on() -> None:
    of_v1 = "You said: Hello, agent! (end_turn)\n"
    for switches in ((), ("--v2",)):
        run = ran("client.py", *agent("two_versions_agent.py", *switches))
        assert (run.returncode, run.stdout) == (0, of_v1), run.stderr
    run = ran("v2_one_shot.py", "Hello", *agent("two_versions_agent.py", "--v2"))
    assert (run.returncode, run.stdout) == (0, "You said: Hello\n"), run.stderr
    run = ran("v2_one_shot.py", "Hello", *agent("two_versions_agent.py"))
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].endswith("the agent speaks protocol version 1")


def test_an_inbox_has_the_replay_before_the_answer_and_the_end_behind_all() -> None:
    """C-271, C-272."""
    run = ran("ordered_dispatch.py", *agent("v2_agent.py"))
    assert run.stdout.splitlines() == [
        "update: user_message",
        "answered: prompt",
        "update: state_update",
        "update: agent_message_chunk",
        "update: state_update",
        "update: user_message",
        "update: agent_message_chunk",
        "update: state_update",
        "answered: resume",
        "closed",
    ], run.stderr


def test_two_parts_of_a_program_share_a_session_and_a_third_finds_it_again() -> None:
    """C-276, C-277."""
    run = ran("shared_sessions.py", *agent("v2_agent.py"))
    assert run.stdout.splitlines() == [
        "log: user_message",
        "log: state_update",
        "log: agent_message_chunk",
        "log: state_update",
        "window: UserMessage AgentMessage",
        "later: UserMessage AgentMessage",
    ], run.stderr
    assert (run.returncode, run.stderr) == (0, "")
