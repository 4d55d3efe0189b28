"""What our client asks of an agent of version 1, and what has to come of it.

Owns the scenarios and their checks; they are those that the peers' client runs. The handlers that
the agent reaches meanwhile are `tests.interop.client_v1`'s.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from anyio import Path

import acp
from acp import schema
from tests.interop.checks import BOUND, Checks, within
from tests.interop.updates_v1 import COUNT_META, every_update

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from acp.client.connection import ClientSideConnection
    from tests.interop.client_v1 import InteropClient

__all__ = ("Scenarios",)

CAPABILITIES = schema.ClientCapabilities(
    fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
    terminal=True,
    elicitation=schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities()),
    session=schema.ClientSessionCapabilities(
        config_options=schema.SessionConfigOptionsCapabilities(
            boolean=schema.BooleanConfigOptionCapabilities()
        ),
        notices=schema.NoticeCapabilities(),
        compaction=schema.CompactionCapabilities(),
    ),
)
ORDER = """
auth new_session stream unicode echo everything permission files terminal elicit cancel errors
extensions concurrency modes config loading listing closing
"""


class Turn:
    """One prompt that was answered, with the updates that came before the answer."""

    def __init__(self, response: acp.PromptResponse, updates: list[Any]) -> None:
        self.stop_reason = response.stop_reason
        self.field_meta = response.field_meta
        self.updates = updates

    @property
    def text(self) -> str:
        chunks = [u for u in self.updates if u.session_update == "agent_message_chunk"]
        return "".join(u.content.text for u in chunks if u.content.type == "text")

    def one(self, kind: str) -> Any:
        """The first update of a kind; None when there is none."""
        return next((u for u in self.updates if u.session_update == kind), None)


class Scenarios:
    """All scenarios, on one connection."""

    def __init__(self, checks: Checks, agent: ClientSideConnection, client: InteropClient) -> None:
        self.checks = checks
        self.agent = agent
        self.client = client
        self.session = ""
        self.cwd = os.getcwd()

    async def run(self, *, initialized: bool = False) -> None:
        """Runs every scenario. One that breaks off fails alone, unless it is the opening."""
        if not initialized:
            early = self.agent.new_session(self.cwd)
            await self.checks.rejects("request before initialize is refused", early, -32600)
        await self.opening()
        for name in ORDER.split():
            await self._run(name)

    async def _run(self, name: str) -> None:
        try:
            await getattr(self, name)()
        except Exception as exc:  # noqa: BLE001 - reported, and the others still run
            self.checks.ok(f"{name}: breaks off", False, error=repr(exc)[:400])

    # What scenarios have in common.

    async def prompt(self, what: str | list[Any], session: str | None = None) -> Turn:
        session = session or self.session
        start = len(self.client.updates)
        blocks = [acp.text_block(what)] if isinstance(what, str) else what
        response = await within(self.agent.prompt(session, blocks))
        return Turn(response, self.updates_since(start, session))

    def updates_since(self, start: int, session: str | None = None) -> list[Any]:
        session = session or self.session
        return [update for of, update in self.client.updates[start:] if of == session]

    @asynccontextmanager
    async def waiting(self, session: str | None = None) -> AsyncGenerator[asyncio.Task[Turn]]:
        """A turn that has begun and waits; at the end of the body it is over."""
        start = len(self.client.updates)
        turn = asyncio.create_task(self.prompt("wait", session))
        try:
            await self.client.until(lambda: self.updates_since(start, session))
            yield turn
        finally:
            turn.cancel()
            await asyncio.wait([turn], timeout=BOUND)

    async def open(self, cwd: str | None = None) -> str:
        return (await within(self.agent.new_session(cwd or self.cwd))).session_id

    # The scenarios.

    async def opening(self) -> None:
        checks, agent = self.checks, self.agent
        info = schema.Implementation(name="interop-client", title="Interop", version="1.0.0")
        opened = await within(agent.initialize(acp.PROTOCOL_VERSION, CAPABILITIES, info))
        checks.equal("initialize answers version 1", opened.protocol_version, 1)
        checks.ok("agent names itself", opened.agent_info and opened.agent_info.name)
        self.can = opened.agent_capabilities
        self.auth_methods = opened.auth_methods

    async def auth(self) -> None:
        method = self.auth_methods[0].id
        await within(self.agent.authenticate(method))
        unknown = self.agent.authenticate("no-such-method")
        await self.checks.rejects("unknown auth method is -32602", unknown, -32602)
        self.checks.ok("agent can log out", self.can.auth.logout)
        await within(self.agent.logout())
        await within(self.agent.authenticate(method))

    async def new_session(self) -> None:
        server = schema.McpServerStdio(
            name="tools",
            command="/bin/true",
            args=[],
            env=[schema.EnvVariable(name="K", value="V")],
        )
        created = await within(
            self.agent.new_session(
                self.cwd, additional_directories=[tempfile.gettempdir()], mcp_servers=[server]
            )
        )
        self.session = created.session_id
        self.checks.ok("session/new gives an id", self.session)
        self.checks.ok("session/new gives modes", created.modes and created.modes.available_modes)
        self.checks.ok("session/new gives config options", created.config_options)

    async def stream(self) -> None:
        checks = self.checks
        five = await self.prompt("stream 5")
        checks.equal("stream 5: stop reason", five.stop_reason, "end_turn")
        texts = [update.content.text for update in five.updates]
        checks.equal("stream 5: in order, before the answer", texts, ["0;", "1;", "2;", "3;", "4;"])
        checks.equal("stream 5: one message", len({u.message_id for u in five.updates}), 1)
        many = await self.prompt("stream 2000")
        expected = "".join(f"{number};" for number in range(2000))
        checks.ok("stream 2000: in order", many.text == expected)
        large = await self.prompt("stream 2 3000000")
        checks.equal("stream 2 x 3 MB", len(large.text), 2 * 3_000_002)

    async def unicode(self) -> None:
        odd = 'echo: é 漢字 🎉 \u2028\u2029 \x00 "quoted" \\ tab\t'
        self.checks.equal("unicode survives", (await self.prompt(odd)).text, f"echo:{odd}")

    async def echo(self) -> None:
        blob = schema.BlobResourceContents(
            uri="file:///tmp/y", blob="aGVsbG8=", mime_type="application/octet-stream"
        )
        blocks = [
            schema.TextContentBlock(
                text="echo", annotations=schema.Annotations(audience=["user"], priority=0.5)
            ),
            schema.ImageContentBlock(data="aGVsbG8=", mime_type="image/png"),
            schema.ResourceContentBlock(uri="file:///tmp/x", name="x", title="X", size=12),
            schema.EmbeddedResourceContentBlock(resource=blob),
        ]
        back = [update.content for update in (await self.prompt(blocks)).updates]
        self.checks.equal("content blocks come back", back, blocks)

    async def everything(self) -> None:
        turn = await self.prompt("everything")
        self.checks.equal("every kind of update arrives", turn.updates, every_update())
        self.checks.equal(
            "_meta of the answer arrives", turn.field_meta, {COUNT_META: len(every_update())}
        )

    async def permission(self) -> None:
        checks, client = self.checks, self.client
        allowed = await self.prompt("permission")
        checks.equal("permission: allowed", allowed.text, "permission:yes")
        checks.equal(
            "permission: tool call ended", allowed.one("tool_call_update").status, "completed"
        )
        kinds = [option.kind for option in client.options]
        checks.equal("permission: options", kinds, ["allow_once", "allow_always", "reject_once"])
        select_yes = client.answer_permission

        async def select_no(session_id: str) -> Any:
            return schema.AllowedOutcome(option_id="no")

        async def cancel(session_id: str) -> Any:
            await self.agent.cancel(session_id)
            return schema.DeniedOutcome()

        try:
            client.answer_permission = select_no
            checks.equal(
                "permission: refused", (await self.prompt("permission")).text, "permission:no"
            )
            client.answer_permission = cancel
            turn = await self.prompt("permission")
            checks.equal("permission: cancelled turn", turn.stop_reason, "cancelled")
        finally:
            client.answer_permission = select_yes

    async def files(self) -> None:
        checks = self.checks
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file.txt")
            text = "line one\nline two ✓\nline three\n"
            await path.write_text(text, "utf-8")
            checks.equal("read a file", (await self.prompt(f"read {path}")).text, f"read:{text}")
            lines = await self.prompt(f"read {path} 2 1")
            checks.equal("read lines", lines.text, "read:line two ✓")
            missing = self.prompt("read /no/such/file")
            await checks.rejects("a missing file fails the prompt", missing, -32002)
            await self.prompt(f"write {path} written by agent")
            checks.equal(
                "write reached the disk", await path.read_text("utf-8"), "written by agent"
            )

    async def terminal(self) -> None:
        turn = await self.prompt("terminal printenv INTEROP")
        self.checks.equal("terminal output", turn.text, "terminal:0:false:1\n")
        content = turn.one("tool_call").content
        self.checks.equal("terminal in a tool call", [one.type for one in content], ["terminal"])

    async def elicit(self) -> None:
        turn = await self.prompt("elicit")
        self.checks.equal("form answered", turn.text, 'elicit:accept:{"name":"Ada","age":36}')
        self.checks.equal("form arrives", self.client.forms[-1].required, ["name"])

    async def cancel(self) -> None:
        async with self.waiting() as turn:
            await self.agent.cancel(self.session)
            ended = await within(turn)
            self.checks.equal("session/cancel ends the turn", ended.stop_reason, "cancelled")
        core: Any = self.agent._connection.core
        swallowed = core.counters()["swallowed_responses"]
        async with self.waiting() as turn:
            turn.cancel()
            await asyncio.wait([turn], timeout=BOUND)
        self.checks.ok("a cancelled call ends at once", turn.cancelled())
        # Answered at all, the agent has understood $/cancel_request: nothing else ends this turn.
        for _ in range(200):
            if core.counters()["swallowed_responses"] > swallowed:
                break
            await within(self.agent.ext_method("interop.test/ping", {}))
        self.checks.equal(
            "$/cancel_request ends the request",
            core.counters()["swallowed_responses"] - swallowed,
            1,
        )

    async def errors(self) -> None:
        checks, agent = self.checks, self.agent
        for name, word, code in (
            ("an internal error with data", "fail", -32603),
            ("a code of its own", "fail -32042", -32042),
        ):
            await checks.rejects(name, self.prompt(word), code, {"why": "interop", "code": code})
        unknown = agent.ext_method("interop.test/no_such_method", {})
        await checks.rejects("unknown method", unknown, -32601)
        # The typed method would not send this.
        params = {"sessionId": self.session, "prompt": "not an array"}
        malformed = agent._connection.request("session/prompt", params)
        await checks.rejects("malformed params", malformed, -32602)
        await checks.rejects("unknown session", self.prompt("hi", "nope"), -32002)
        checks.equal("alive after errors", (await self.prompt("stream 1")).text, "0;")

    async def extensions(self) -> None:
        checks, agent = self.checks, self.agent
        pong = await within(agent.ext_method("interop.test/ping", {"a": [1, None, "x"]}))
        checks.equal("request outside the protocol", pong, {"pong": {"a": [1, None, "x"]}})
        before = await self._notes()
        for number in range(3):
            await agent.ext_notification("interop.test/note", {"i": number})
        # Agents may start a request before the handler of a notification that came earlier.
        for _ in range(20):
            if (counted := await self._notes() - before) == 3:
                break
        checks.equal("notifications outside the protocol", counted, 3)
        checks.equal("request to the client", (await self.prompt("ext")).text, "ext:42")
        await self.client.until(lambda: self.client.told)
        checks.equal("notification to the client", self.client.told, [{"n": 42}])

    async def _notes(self) -> int:
        return (await within(self.agent.ext_method("interop.test/notes", {})))["count"]

    async def concurrency(self) -> None:
        checks, agent = self.checks, self.agent
        calls = [agent.ext_method("interop.test/ping", {"i": number}) for number in range(64)]
        pongs = await within(asyncio.gather(*calls))
        checks.equal("64 requests at once", [p["pong"]["i"] for p in pongs], list(range(64)))
        other = await self.open()
        slow, quick = await asyncio.gather(
            self.prompt("sleep 300", other), self.prompt("stream 50")
        )
        checks.equal("two sessions at once: slow", slow.text, "slept:300")
        checks.equal("two sessions at once: quick", len(quick.updates), 50)
        async with self.waiting(other) as turn:
            pong = await within(agent.ext_method("interop.test/ping", {"during": True}))
            await agent.cancel(other)
            checks.equal("agent is reachable during a turn", pong, {"pong": {"during": True}})
            checks.equal("the turn ends then", (await within(turn)).stop_reason, "cancelled")

    async def modes(self) -> None:
        start = len(self.client.updates)
        await within(self.agent.set_session_mode(self.session, "code"))
        modes = [getattr(u, "current_mode_id", None) for u in self.updates_since(start)]
        self.checks.equal("current_mode_update comes before the answer", modes, ["code"])
        unknown = self.agent.set_session_mode(self.session, "nope")
        await self.checks.rejects("unknown mode", unknown, -32602)

    async def config(self) -> None:
        agent, checks = self.agent, self.checks
        for name, option, value in (("select", "model", "smart"), ("boolean", "verbose", True)):
            answer = await within(agent.set_config_option(option, self.session, value))
            values = {one.id: one.current_value for one in answer.config_options}
            checks.equal(f"{name} option set", values[option], value)

    async def loading(self) -> None:
        checks, agent = self.checks, self.agent
        checks.ok("agent can load and resume", self.can.load_session and self.sessions.resume)
        await self.prompt("remember me")
        start = len(self.client.updates)
        loaded = await within(agent.load_session(self.cwd, self.session))
        replay = self.updates_since(start)
        checks.ok(
            "load replays before it answers",
            replay and replay[0].session_update == "user_message_chunk",
        )
        values = {one.id: one.current_value for one in loaded.config_options or ()}
        checks.equal("load returns the state", values.get("model"), "smart")
        unknown = agent.load_session(self.cwd, "nope")
        await checks.rejects("load of an unknown session", unknown, -32002)
        start = len(self.client.updates)
        await within(agent.resume_session(self.session, self.cwd))
        checks.equal("resume replays nothing", self.updates_since(start), [])

    async def listing(self) -> None:
        checks, agent = self.checks, self.agent
        checks.ok("agent can list and delete", self.sessions.list and self.sessions.delete)
        cwd = f"/tmp/listed-{uuid.uuid4()}"
        opened = {await self.open(cwd) for _ in range(3)}
        seen: list[Any] = []
        cursor: str | None = None
        while page := await within(agent.list_sessions(cwd, cursor)):
            seen += page.sessions
            if (cursor := page.next_cursor) is None or len(seen) > 3:
                break
        checks.equal(
            "list pages through all", sorted(one.session_id for one in seen), sorted(opened)
        )
        checks.ok("list filters by directory", all(one.cwd == cwd for one in seen))
        gone = seen[0].session_id
        await within(agent.delete_session(gone))
        left = (await within(agent.list_sessions(cwd))).sessions
        checks.ok("a deleted session is gone", gone not in {one.session_id for one in left})
        await within(agent.delete_session(gone))
        checks.ok("deleting twice succeeds", True)

    async def closing(self) -> None:
        self.checks.ok("agent can close sessions", self.sessions.close)
        async with self.waiting() as turn:
            await within(self.agent.close_session(self.session))
            ended = await within(turn)
            self.checks.equal("close cancels the turn that runs", ended.stop_reason, "cancelled")

    @property
    def sessions(self) -> Any:
        return self.can.session_capabilities
