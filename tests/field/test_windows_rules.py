"""What is done on Windows, as far as it can be told anywhere: names of programs, arguments of batch
files, variables, jobs in place of groups, loops that start no process.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp._transports.environment import merged, selected
from acp._transports.group import WindowsGroup
from acp._transports.job import Job, job_of
from acp._transports.popen import PopenProcess
from acp._transports.program import (
    check_arguments,
    find_on_windows,
    program_of,
    search_path,
    start_error,
)
from acp._transports.spawning import group_options
from tests.field.children import ANSWERING
from tests.raw_peer import within
from tests.sides import Silent

# Names of programs.

PATH = r'C:\one;"C:\with space";;C:\two\;.\here'
EXTENSIONS = ".COM;.EXE;.BAT;.CMD"
FOUND: dict[str, tuple[str, set[str], str | None]] = {
    "a batch file": ("npx", {r"C:\two\npx.cmd"}, r"C:\two\npx.cmd"),
    "a program": ("npx", {r"C:\one\npx.exe", r"C:\one\npx.cmd"}, r"C:\one\npx.exe"),
    "an earlier directory first": ("x", {r"C:\one\x.cmd", r"C:\two\x.exe"}, r"C:\one\x.cmd"),
    "a directory in quotes": ("x", {r"C:\with space\x.bat"}, r"C:\with space\x.bat"),
    "not what has no extension": ("npx", {r"C:\one\npx", r"C:\two\npx.cmd"}, r"C:\two\npx.cmd"),
    "an extension that is written out": ("npx.cmd", {r"C:\one\npx.cmd"}, r"C:\one\npx.cmd"),
    "in any case": ("NPX.CMD", {r"C:\one\NPX.CMD"}, r"C:\one\NPX.CMD"),
    "a dot in the name": ("py3.11", {r"C:\one\py3.11", r"C:\two\py3.11.exe"}, r"C:\two\py3.11.exe"),
    "an extension that does not count": ("x.ps1", {r"C:\one\x.ps1"}, None),
    "twice an extension": ("x.exe", {r"C:\one\x.exe.cmd"}, r"C:\one\x.exe.cmd"),
    "nothing": ("npx", {r"C:\three\npx.cmd"}, None),
    "not the current directory": ("npx", {"npx.cmd", r".\npx.cmd"}, None),
    "the current directory where PATH has it": ("x", {r".\here\x.exe"}, r".\here\x.exe"),
    "with its directory": (r"D:\a\npx", {r"D:\a\npx.cmd", r"C:\one\npx.cmd"}, r"D:\a\npx.cmd"),
    "with its directory, as it is": (r"D:\a\tool", {r"D:\a\tool", r"D:\a\tool.exe"}, r"D:\a\tool"),
    "with the other slash": ("./npx", {"./npx.cmd"}, "./npx.cmd"),
    "with a drive": ("D:npx", {"D:npx.exe"}, "D:npx.exe"),
    "with a directory it is not in": (r"D:\a\npx", {r"C:\one\npx.cmd"}, None),
}


@pytest.mark.parametrize("case", list(FOUND))
def test_a_command_is_resolved_through_path_and_pathext(case: str) -> None:
    """C30."""
    command, files, expected = FOUND[case]
    assert find_on_windows(command, PATH, EXTENSIONS, files.__contains__) == expected


@pytest.mark.parametrize(
    ("extensions", "expected"),
    [("", "npx.exe"), (".CMD;.EXE", "npx.cmd"), (".PY;;", "npx.py"), (".VBS", None)],
)
def test_the_order_of_extensions_is_that_of_pathext(extensions: str, expected: str | None) -> None:
    """C30: with the usual ones where it is not set."""
    files = {rf"C:\a\npx.{ending}" for ending in ("cmd", "exe", "py")}
    found = find_on_windows("npx", r"C:\a", extensions, files.__contains__)
    assert found == (None if expected is None else rf"C:\a\{expected}")


def test_the_path_and_the_extensions_are_those_that_the_process_gets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C30: whatever the case of their names; the host's where it gets none."""
    for directory, ending in (("given", "odd"), ("host", "cmd")):
        # Joined as on Windows, which here is part of the name.
        Path(f"{tmp_path}\\{directory}\\npx.{ending}").touch()
    given, host = f"{tmp_path}\\given", f"{tmp_path}\\host"
    monkeypatch.setenv("PATH", host)
    monkeypatch.setenv("PATHEXT", ".CMD")
    assert program_of(["npx", "-y"], {"Path": given, "Pathext": ".ODD"}) == f"{given}\\npx.odd"
    assert program_of(["npx", "-y"], {}) == f"{host}\\npx.cmd"
    assert search_path({"Path": given}, windows=True) == given
    with pytest.raises(FileNotFoundError) as caught:
        program_of(["npx"], {"PATH": given})
    env = {"PATH": given, "A": "secret"}
    told = start_error(caught.value, ["npx"], env, None, windows=True)
    assert isinstance(told, FileNotFoundError)
    assert str(told).endswith(f"(searched on PATH {given}; variables passed: A, PATH): 'npx'")


@pytest.mark.parametrize("program", [r"C:\a\npx.cmd", r"C:\a\NPX.BAT"])
@pytest.mark.parametrize(
    "argument", ["%PATH%", "a&b", "a|b", "a>b", "a<b", "a^b", '{"a": 1}', "a\nb", "a\rb"]
)
def test_a_batch_file_gets_nothing_that_its_shell_would_read(program: str, argument: str) -> None:
    """C30: the error tells which argument, and not what it is."""
    with pytest.raises(ValueError, match="Argument 2 of the batch file") as caught:
        check_arguments(program, ["-y", argument])
    assert argument not in str(caught.value)
    check_arguments(r"C:\a\npx.exe", ["-y", argument])


def test_a_batch_file_gets_everything_else() -> None:
    """C30."""
    check_arguments(r"C:\a\npx.cmd", ["-y", "@scope/agent@1.2", "--dir=C:\\a b", "", "é(1),!;~'"])


# Variables.


def test_case_means_nothing_in_the_name_of_a_variable() -> None:
    """C44: one that is given takes the place of the inherited one, however that is written."""
    host = {"PATH": "of the host", "A_API_KEY": "k", "OTHER": "x"}
    assert selected(host, ["*_api_key", "path"], windows=True) == {
        "PATH": "of the host",
        "A_API_KEY": "k",
    }
    assert selected(host, ["*_api_key"], windows=False) == {}
    given = {"Path": "given"}
    assert merged(host, given, windows=True) == {"A_API_KEY": "k", "OTHER": "x", "Path": "given"}
    assert merged(host, given, windows=False) == {**host, "Path": "given"}


# Groups and jobs.


def test_a_child_is_a_group_of_its_own_without_a_window() -> None:
    """C11: CREATE_NEW_PROCESS_GROUP and CREATE_NO_WINDOW."""
    assert group_options(windows=True) == {"creationflags": 0x08000200}
    assert group_options(windows=False) == {"start_new_session": True}


class Kernel:
    """Notes what is called of the system, and refuses what it is told to."""

    JOB, PROCESS = 41, 42

    def __init__(self, refuses: str = "") -> None:
        self.refuses = refuses
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        results = {"CreateJobObjectW": self.JOB, "OpenProcess": self.PROCESS}

        def call(*args: Any) -> int:
            if name == "SetInformationJobObject":
                handle, kind, limits, size = args
                args = (handle, kind, ctypes.string_at(limits, size))
            self.calls.append((name, args))
            return 0 if name == self.refuses else results.get(name, 1)

        return call

    @property
    def open(self) -> list[int]:
        """Handles that were not given back."""
        gone = [args[0] for name, args in self.calls if name == "CloseHandle"]
        made = {"CreateJobObjectW": self.JOB, "OpenProcess": self.PROCESS}
        had = [made[name] for name, _ in self.calls if name in made and name != self.refuses]
        return [handle for handle in had if handle not in gone]


def test_a_job_takes_the_child_and_ends_with_its_last_handle() -> None:
    """C11: the limit has the layout of 64-bit Windows."""
    kernel = Kernel()
    job = Job.holding(7, kernel)
    assert job is not None
    limits = bytearray(144)
    limits[16:20] = (0x2000).to_bytes(4, "little")
    assert kernel.calls == [
        ("CreateJobObjectW", (None, None)),
        ("SetInformationJobObject", (41, 9, bytes(limits))),
        ("OpenProcess", (0x101, False, 7)),
        ("AssignProcessToJobObject", (41, 42)),
        ("CloseHandle", (42,)),
    ]
    job.kill()
    assert kernel.calls[-1] == ("TerminateJobObject", (41, 1))
    job.close()
    job.close()
    job.kill()
    assert kernel.calls[-1] == ("CloseHandle", (41,))
    assert kernel.open == []


@pytest.mark.parametrize(
    "refuses",
    ["CreateJobObjectW", "SetInformationJobObject", "OpenProcess", "AssignProcessToJobObject"],
)
def test_without_a_job_nothing_is_left_open(refuses: str) -> None:
    """C11: the child alone is ended then."""
    kernel = Kernel(refuses)
    assert Job.holding(7, kernel) is None
    assert kernel.open == []


class Child:
    """A process that is only counted on."""

    def __init__(self, returncode: int | None = None) -> None:
        self.returncode = returncode
        self.pid = 7
        self.kills = 0

    def kill(self) -> None:
        self.kills += 1


async def test_a_job_is_ended_whole_whether_or_not_its_child_is_gone() -> None:
    """C11: there is nobody to ask, so that nothing waits for an answer."""
    for returncode in (None, 0):
        kernel = Kernel()
        child: Any = Child(returncode)
        group = WindowsGroup(child, Job.holding(7, kernel))
        assert group.terminate() is False
        group.kill()
        await group.end_orphans(10.0)
        ended = [name for name, _ in kernel.calls if name == "TerminateJobObject"]
        assert (len(ended), child.kills) == (2, 0)
        group.close()
        assert kernel.open == []


@pytest.mark.parametrize("returncode", [None, 0])
async def test_a_child_without_a_job_is_ended_alone_unless_it_is_gone(
    returncode: int | None,
) -> None:
    """C11."""
    child: Any = Child(returncode)
    group = WindowsGroup(child, None)
    assert group.terminate() is False
    group.kill()
    group.close()
    assert child.kills == (returncode is None)


def test_there_are_no_jobs_here() -> None:
    """C11."""
    assert job_of(7) is None


# Loops that start no process.


class Selector(asyncio.SelectorEventLoop):
    """As the selector loop of Windows: it can do everything but start a process."""

    async def _make_subprocess_transport(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def on_selector(main: Any) -> Any:
    """What `main` returns on such a loop."""
    loop = Selector()
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()


def command(program: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", ANSWERING + program)


def test_a_loop_that_starts_no_process_has_agents_all_the_same() -> None:
    """C30: a conversation, stderr, the exit code, an end with its input."""

    async def main() -> None:
        lines: list[str] = []
        agent_command = command("os.write(2, b'up\\n')\nserve()\nsys.exit(7)")
        spawned = acp.spawn_agent_process(Silent(), *agent_command, on_stderr=lines.append)
        async with spawned as (agent, process):
            assert (await within(agent.initialize(1))).protocol_version == 1
            assert process.returncode is None
        assert (process.returncode, await within(process.wait())) == (7, 7)
        assert lines == ["up"]

    on_selector(main())


def test_a_loop_that_starts_no_process_sees_one_die_and_ends_one_that_does_not() -> None:
    """C30, C06, C11."""

    async def main() -> None:
        dying = command("next(requests())\nos.write(2, b'fatal')\nos._exit(3)")
        async with acp.spawn_agent_process(Silent(), *dying) as (agent, _):
            with pytest.raises(acp.ConnectionClosed) as caught:
                await within(agent.initialize(1))
        assert (caught.value.exit_code, caught.value.stderr_tail) == (3, "fatal")
        stubborn = acp.process_transport(
            *command("os.write(1, b'up')\nwhile True: time.sleep(600)"), shutdown_timeout=0.1
        )
        async with stubborn:
            assert await within(stubborn.receive()) == b"up"
        assert stubborn.process.returncode == -15
        with pytest.raises(FileNotFoundError, match="searched on PATH"):
            await acp.process_transport("no-such-agent").open()

    on_selector(main())


async def test_a_process_of_a_thread_is_waited_for_by_any_number_and_signalled_until_then() -> None:
    """C30."""
    process = PopenProcess(command("while True: time.sleep(600)"), {})
    codes: list[int] = []

    async def wait() -> None:
        codes.append(await process.wait())

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            group.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            process.kill()
    assert codes == [-9, -9]
    for end in (process.kill, process.terminate, lambda: process.send_signal(2)):
        with pytest.raises(ProcessLookupError):
            end()
