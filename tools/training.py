"""The traffic that a release build is optimised on: `maturin build --pgo` runs this.

Owns a made-up stretch of ordinary work, the same on each run: what agents and clients send, in the
mixture in which they send it, with some of what goes wrong. It measures nothing, and shares no
message with the benchmarks, so that these show what the build does with messages that it was not
made for.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import acp
from acp import _core, schema
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection

Json = dict[str, Any]

ROUNDS = 600
WORDS = tuple(
    word
    for line in (
        "the a of to it we now file test build path error line change add remove run check in for",
        'with first then because module function returns value 42 größer naïve → ✓ "quoted" a\\b',
    )
    for word in line.split(" ")
)


class Traffic:
    """Makes messages; every choice comes from one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._sessions = [f"sess_{self._random.getrandbits(64):016x}" for _ in range(8)]

    def text(self, most: int = 24) -> str:
        words = self._random.choices(WORDS, k=self._random.randint(1, most))
        return self._random.choice((" ", " ", " ", "\n")).join(words)

    def name(self, start: str) -> str:
        return f"{start}{self._random.randint(1, 9999)}"

    def path(self) -> str:
        return "/".join(["/srv", *self._random.choices(WORDS[:20], k=3), self.name("f") + ".rs"])

    def block(self) -> Json:
        kind = self._random.random()
        if kind < 0.85:
            return {"type": "text", "text": self.text()}
        if kind < 0.93:
            return {"type": "resource_link", "name": self.name("n"), "uri": "file://" + self.path()}
        return {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}

    def tool_call(self, kind: str) -> Json:
        call: Json = {"sessionUpdate": kind, "toolCallId": self.name("tc_"), "title": self.text(4)}
        if self._random.random() < 0.7:
            call["status"] = self._random.choice(("pending", "in_progress", "completed", "failed"))
            call["kind"] = self._random.choice(("read", "edit", "execute", "search", "other"))
        if self._random.random() < 0.6:
            call["content"] = [
                {"type": "content", "content": self.block()},
                {"type": "diff", "path": self.path(), "oldText": None, "newText": self.text()},
                {"type": "terminal", "terminalId": self.name("term_")},
            ][self._random.randint(0, 2) :]
        if self._random.random() < 0.5:
            call["locations"] = [{"path": self.path(), "line": self._random.randint(0, 5000)}]
            call["rawInput"] = {"command": self.text(5), "retries": 2, "flags": [True, None, 0.5]}
            call["rawOutput"] = {"exitCode": 0, "stdout": self.text()}
        return call

    def update(self) -> Json:
        kind = self._random.random()
        if kind < 0.55:
            tags = ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk")
            tag = self._random.choices(tags, (6, 3, 1))[0]
            return {"sessionUpdate": tag, "content": self.block()}
        if kind < 0.85:
            return self.tool_call(self._random.choice(("tool_call", "tool_call_update")))
        if kind < 0.93:
            entries = [
                {
                    "content": self.text(6),
                    "priority": self._random.choice(("high", "medium", "low")),
                    "status": self._random.choice(("pending", "in_progress", "completed")),
                }
                for _ in range(self._random.randint(1, 6))
            ]
            return {"sessionUpdate": "plan", "entries": entries}
        if kind < 0.97:
            commands = [{"name": self.name("c"), "description": self.text(5)} for _ in range(3)]
            return {"sessionUpdate": "available_commands_update", "availableCommands": commands}
        return {"sessionUpdate": "current_mode_update", "currentModeId": self.name("mode_")}

    def session(self) -> str:
        return self._random.choice(self._sessions)

    def notification(self) -> Json:
        params: Json = {"sessionId": self.session(), "update": self.update()}
        if self._random.random() < 0.05:
            params["_meta"] = {"trace": self.name("t"), "depth": [1, [2, {"x": 3.25}]]}
        return {"jsonrpc": "2.0", "method": "session/update", "params": params}

    def requests(self) -> Iterator[tuple[str, Json, Json]]:
        """Method, params and result of what a client asks an agent."""
        session = self.session()
        yield "session/new", {"cwd": self.path(), "mcpServers": []}, {"sessionId": session}
        prompt = [self.block() for _ in range(self._random.randint(1, 3))]
        yield "session/prompt", {"sessionId": session, "prompt": prompt}, {"stopReason": "end_turn"}
        yield "session/set_mode", {"sessionId": session, "modeId": self.name("m")}, {}

    def questions(self) -> Iterator[tuple[str, Json, Json]]:
        """Method, params and result of what an agent asks a client."""
        session = self.session()
        call = {"toolCallId": self.name("tc_"), "title": self.text(4)}
        options = [
            {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]
        yield (
            "session/request_permission",
            {"sessionId": session, "toolCall": call, "options": options},
            {"outcome": {"outcome": "selected", "optionId": "yes"}},
        )
        read = {"sessionId": session, "path": self.path(), "line": 3, "limit": 40}
        yield "fs/read_text_file", read, {"content": self.text(60)}
        write = {"sessionId": session, "path": self.path(), "content": self.text(60)}
        yield "fs/write_text_file", write, {}


def line(message: Json) -> bytes:
    """A message as most peers write it, compact, or as some do, with spaces."""
    separators = (", ", ": ") if len(message) % 5 == 4 else (",", ":")
    return json.dumps(message, separators=separators, ensure_ascii=False).encode() + b"\n"


def ask(asking: _core.Connection, asked: _core.Connection, call: tuple[str, Json, Json]) -> None:
    """One request there and its answer back, as objects on both ends."""
    method, params, result = call
    asking.request(method, params)
    for event in asked.receive(asking.take_output()):
        if isinstance(event, _core.RequestReceived):
            event.params()
            asked.respond(event.token, result)
    for event in asking.receive(asked.take_output()):
        if isinstance(event, _core.ResponseReceived):
            event.result()


def update(traffic: Traffic, agent: _core.Connection, client: _core.Connection) -> None:
    """One frame that comes alone, and the object that it makes sent on again."""
    for event in client.receive(line(traffic.notification())):
        if isinstance(event, _core.NotificationReceived):
            agent.notify(event.method, event.params())
    agent.take_output()


def burst(traffic: Traffic, client: _core.Connection) -> None:
    """Many frames in one read, and the same again in reads that end anywhere."""
    stream = b"".join(line(traffic.notification()) for _ in range(24))
    pieces = [stream, *(stream[at : at + 1000] for at in range(0, len(stream), 1000))]
    for piece in pieces:
        for event in client.receive(piece):
            if isinstance(event, _core.NotificationReceived):
                event.params()


def faults(traffic: Traffic, agent: _core.Connection) -> None:
    """What a peer gets wrong now and then."""
    good = traffic.notification()
    del good["params"]["update"]
    for bad in (b"{}\n", b"no json\n", b"[]\n", line({"id": 1, "method": "x"}), line(good)):
        for event in agent.receive(bad):
            if isinstance(event, _core.NotificationReceived):
                swallow(event.params)
    agent.take_output()


def swallow(work: Callable[[], object]) -> None:
    """Does what is expected to be refused."""
    try:
        work()
    except ValueError:
        return


def objects(traffic: Traffic, agent: _core.Connection) -> None:
    """Objects as programs make, change, copy and print them."""
    chunk = schema.AgentMessageChunk(
        session_update="agent_message_chunk",
        content=schema.TextContentBlock(type="text", text=traffic.text()),
    )
    note = schema.SessionNotification(session_id=traffic.session(), update=chunk)
    agent.notify("session/update", note)
    agent.take_output()
    note.model_dump(by_alias=True, exclude_none=True)
    note.model_dump_json(by_alias=True)
    note.model_copy(deep=True)
    schema.SessionNotification.model_validate(traffic.notification()["params"])


class Storyteller(acp.Agent):
    """Answers each prompt with a burst of updates."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic

    def on_connect(self, conn: AgentSideConnection) -> None:
        self._conn = conn

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> acp.PromptResponse:
        for _ in range(100):
            text = acp.text_block(self._traffic.text())
            await self._conn.session_update(session_id, acp.update_agent_message(text))
        return acp.PromptResponse(stop_reason="end_turn")


class Listener(acp.Client):
    """Reads what it is told."""

    def __init__(self) -> None:
        self.read = 0

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.read += len(update.content.text)
        if self.read % 50 == 0:
            await asyncio.sleep(0)


async def conversation(traffic: Traffic) -> None:
    """Whole turns, with the handlers of both sides."""
    ours, theirs = acp.memory_pair()
    agent = AgentSideConnection(Storyteller(traffic), ours)
    client = ClientSideConnection(Listener(), theirs)
    for _ in range(200):
        prompt = [acp.text_block(traffic.text())]
        await client.prompt(prompt=prompt, session_id=traffic.session())
    await client.close()
    await agent.close()


def main() -> None:
    """The whole stretch of work."""
    traffic = Traffic(1)
    agent, client = _core.Connection("agent"), _core.Connection("client")
    for turn in range(ROUNDS):
        for call in traffic.requests():
            ask(client, agent, call)
        for call in traffic.questions():
            ask(agent, client, call)
        for _ in range(40):
            update(traffic, agent, client)
            objects(traffic, agent)
        burst(traffic, client)
        if turn % 20 == 0:
            faults(traffic, agent)
    asyncio.run(conversation(traffic))


if __name__ == "__main__":
    main()
