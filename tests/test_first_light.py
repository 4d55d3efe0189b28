"""An agent and a client in two processes, over standard input and output."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import acp
from acp import schema
from tests.raw_peer import within

pytestmark = pytest.mark.asyncio_only

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

AGENT = """
import asyncio, os, sys
import acp
from acp import schema

class Agent(acp.Agent):
    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, **kwargs):
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd, **kwargs):
        return acp.NewSessionResponse(session_id="s-" + cwd)

    async def prompt(self, session_id, prompt, **kwargs):
        word = prompt[0].text
        if word == "crash":
            print("about to crash", file=sys.stderr, flush=True)
            os._exit(7)
        if word == "forever":
            await self.client.session_update(session_id, acp.update_agent_message_text("0"))
            await asyncio.Event().wait()
        if word == "permission":
            answer = await self.client.request_permission(
                session_id,
                schema.ToolCallUpdate(tool_call_id="t"),
                [schema.PermissionOption(option_id="y", name="Yes", kind="allow_once")],
            )
            text = acp.update_agent_message_text(answer.outcome.option_id)
            await self.client.session_update(session_id, text)
        if word.isdigit():
            for number in range(int(word)):
                print("noise on standard output")
                text = acp.update_agent_message_text(str(number))
                await self.client.session_update(session_id, text)
        return acp.PromptResponse(stop_reason="end_turn")

asyncio.run(acp.run_agent(Agent()))
"""


class Client(acp.Client):
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.first = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.texts.append(update.content.text)
        self.first.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **kwargs: Any
    ) -> acp.RequestPermissionResponse:
        chosen = schema.AllowedOutcome(option_id=options[0].option_id)
        return acp.RequestPermissionResponse(outcome=chosen)


def ask(text: str) -> list[Any]:
    return [acp.text_block(text)]


async def test_two_processes_exchange_initialize_session_prompt_updates_and_permission() -> None:
    client = Client()
    async with acp.spawn_agent_process(client, sys.executable, "-c", AGENT) as (agent, process):
        greeting = await within(agent.initialize(acp.PROTOCOL_VERSION))
        assert greeting.protocol_version == 1
        session = (await within(agent.new_session("/x"))).session_id
        assert session == "s-/x"
        turn = await within(agent.prompt(session, ask("permission")))
        assert turn.stop_reason == "end_turn"
        assert client.texts == ["y"]
        await within(agent.prompt(session, ask("3000")))
        assert client.texts[1:] == [str(number) for number in range(3000)]
    assert process.returncode == 0


async def test_a_turn_of_an_agent_without_a_cancel_handler_can_be_cancelled() -> None:
    client = Client()
    async with acp.spawn_agent_process(client, sys.executable, "-c", AGENT) as (agent, _):
        await within(agent.initialize(acp.PROTOCOL_VERSION))
        session = (await within(agent.new_session("/x"))).session_id
        turn = asyncio.ensure_future(agent.prompt(session, ask("forever")))
        await within(client.first.wait())
        await within(agent.cancel(session))
        assert (await within(turn)).stop_reason == "cancelled"


async def test_a_crash_of_the_agent_fails_the_call_with_its_exit_code_and_last_words() -> None:
    async with acp.spawn_agent_process(Client(), sys.executable, "-c", AGENT) as (agent, process):
        await within(agent.initialize(acp.PROTOCOL_VERSION))
        session = (await within(agent.new_session("/x"))).session_id
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(agent.prompt(session, ask("crash")))
        assert caught.value.exit_code == 7
        assert caught.value.stderr_tail == "about to crash\n"
        assert "about to crash" not in str(caught.value)
        with pytest.raises(acp.ConnectionClosed):
            await within(agent.new_session("/y"))
    assert process.returncode == 7


async def test_an_agent_answers_and_ends_when_its_input_ends() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        AGENT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    messages = [
        {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}},
        {"id": 1, "method": "session/new", "params": {"cwd": "/x", "mcpServers": []}},
        {
            "id": 2,
            "method": "session/prompt",
            "params": {"sessionId": "s-/x", "prompt": [{"type": "text", "text": "2"}]},
        },
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    output, _ = await within(process.communicate(lines.encode().rstrip(b"\n")))
    received = [json.loads(line) for line in output.splitlines()]
    assert [message.get("id", message.get("method")) for message in received] == [
        0,
        1,
        "session/update",
        "session/update",
        2,
    ]
    assert process.returncode == 0


async def test_an_agent_can_start_its_client() -> None:
    program = """
import asyncio, acp

class Client(acp.Client):
    async def read_text_file(self, session_id, path, **kwargs):
        return acp.ReadTextFileResponse(content=path + " of " + session_id)

async def main():
    ended = asyncio.Event()
    async with acp.stdio_transport() as transport:
        connection = acp.connect_to_agent(Client(), transport, listening=False)
        await connection.listen()

asyncio.run(main())
"""

    class Agent(acp.Agent):
        pass

    async with acp.spawn_client_process(Agent(), sys.executable, "-c", program) as (
        client,
        process,
    ):
        answer = await within(client.read_text_file("s", "/f"))
        assert answer.content == "/f of s"
    assert process.returncode == 0


async def test_an_agent_runs_on_streams_that_the_user_opened() -> None:
    program = """
import asyncio, acp

class Agent(acp.Agent):
    async def initialize(self, protocol_version, **kwargs):
        return acp.InitializeResponse(protocol_version=1)

async def main():
    reader, writer = await acp.stdio_streams()
    await acp.run_agent(Agent(), input_stream=writer, output_stream=reader)

asyncio.run(main())
"""
    async with acp.spawn_agent_process(Client(), sys.executable, "-c", program) as (agent, process):
        assert (await within(agent.initialize(1))).protocol_version == 1
    assert process.returncode == 0


async def test_streams_of_a_socket_carry_both_sides() -> None:
    served = asyncio.Event()

    class Agent(acp.Agent):
        async def initialize(self, protocol_version: int, **kwargs: Any) -> Any:
            return acp.InitializeResponse(protocol_version=1)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await acp.run_agent(Agent(), writer, reader)
        writer.close()
        served.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with acp.connect_to_agent(Client(), writer, reader) as agent:
            assert (await within(agent.initialize(1))).protocol_version == 1
        writer.close()
        await within(served.wait())


def test_the_demo_shows_everything_and_ends_with_success() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "acp", "demo", "--json"], capture_output=True, timeout=50
    )
    assert run.returncode == 0, run.stderr
    events = [json.loads(line) for line in run.stdout.splitlines()]
    assert events[-1]["event"] == "passed"
    shown = {event["event"] for event in events}
    assert {"text", "thought", "plan", "tool_call", "permission", "notification"} <= shown
    reasons = [event["stop_reason"] for event in events if "stop_reason" in event]
    assert reasons == ["end_turn", "cancelled"]


def test_the_demo_of_version_2_shows_acceptance_work_and_its_end_in_their_order() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "acp", "demo", "--v2", "--json"], capture_output=True, timeout=50
    )
    assert run.returncode == 0, run.stderr
    events = [json.loads(line) for line in run.stdout.splitlines()]
    assert (events[0]["event"], events[-1]["event"]) == ("started", "passed")
    assert events[1] == {"event": "response", "protocol_version": 2, "agent": "acp-demo-agent"}
    kinds = {event["event"] for event in events}
    assert {"text", "thought", "plan", "tool_call", "permission", "notification"} <= kinds
    course = [
        event.get("stop_reason") or event.get("state") or event["message_id"]
        for event in events
        if event["event"] == "state" or "message_id" in event
    ]
    first, second = (event["message_id"] for event in events if "message_id" in event)
    assert course == [
        *(first, "running", "requires_action", "running", "end_turn"),
        *(second, "running", "cancelled"),
    ]


@pytest.mark.parametrize("version", [[], ["--v2"]])
@pytest.mark.parametrize("module", ["rich", "nothing"])
def test_the_demo_for_people_needs_no_further_package(module: str, version: list[str]) -> None:
    program = f"import sys; sys.modules[{module!r}] = None; from acp._cli.main import main; "
    program += f"sys.exit(main(['demo', *{version}]))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=50)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.decode().splitlines()
    assert lines[-1].startswith("passed")
    assert any(line.startswith("  permission") for line in lines)


def test_the_command_prints_its_version_and_its_help() -> None:
    command = [sys.executable, "-m", "acp"]
    version = subprocess.run([*command, "--version"], capture_output=True, timeout=50)
    assert version.stdout.decode().strip() == acp.__version__
    nothing = subprocess.run(command, capture_output=True, timeout=50)
    assert nothing.returncode == 2
    assert b"demo" in nothing.stdout


def test_the_demo_ends_quietly_when_nobody_reads_on() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "acp", "demo", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as demo:
        assert demo.stdout is not None
        assert demo.stderr is not None
        assert json.loads(demo.stdout.readline())["event"] == "started"
        demo.stdout.close()
        assert demo.stderr.read() == b""
        assert demo.wait(50) == 141


def test_the_examples_talk_to_each_other() -> None:
    agent, client = EXAMPLES / "echo_agent.py", EXAMPLES / "client.py"
    run = subprocess.run(
        [sys.executable, client, sys.executable, agent], capture_output=True, timeout=50
    )
    assert run.stdout.decode() == "Hello, agent! (end_turn)\n", run.stderr
