"""What our client asks of an agent of version 2, and what has to come of it.

Owns the scenarios and their checks; they are those that the peers' client runs. The handlers that
the agent reaches meanwhile are `tests.interop.client_v2`'s.
"""

from __future__ import annotations

import asyncio
import base64
import tempfile
import uuid
from typing import TYPE_CHECKING, Any

from anyio import Path

from acp import v2
from acp.v2 import schema
from tests.interop.checks import within
from tests.interop.running_v2 import Runner, blocks, fold, plain
from tests.interop.updates_v2 import every_update

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ("Scenarios",)

ORDER = """
reinitialize auth new_session mcp stream echo everything upsert permission tools elicit cancel held
errors background extensions concurrency config resume listing closing
"""


class Scenarios(Runner):
    """All scenarios, on one connection."""

    async def run(self) -> None:
        """Runs every scenario. One that breaks off fails alone, unless it is the opening."""
        await self.opening()
        for name in ORDER.split():
            try:
                await getattr(self, name)()
            except Exception as exc:  # noqa: BLE001, PERF203 - printed, and counted as failed
                self.checks.ok(f"{name}: no exception", False, failure=repr(exc)[:400])

    # Opening.

    async def opening(self) -> None:
        found = await within(self.agent.initialize())
        self.checks.equal("initialize answers v2", found.protocol_version, 2)
        self.checks.ok("agent names itself", found.info.name)
        self.checks.ok("its capabilities are kept", self.agent.peer_supports("new_session"))
        self.methods = found.auth_methods

    async def reinitialize(self) -> None:
        again = await within(self.agent.initialize())
        self.checks.equal("initialize may be repeated before others", again.protocol_version, 2)

    async def auth(self) -> None:
        method = self.methods[0].method_id
        await self.call("auth/login", methodId=method)
        await self.checks.rejects(
            "unknown auth method is -32602", self.call("auth/login", methodId="no-such"), -32602
        )
        await self.call("auth/logout")
        await self.call("auth/login", methodId=method)

    async def new_session(self) -> None:
        server = {"type": "stdio", "name": "tools", "command": "/bin/true"}
        made = await self.call(
            "session/new",
            cwd=self.cwd,
            mcpServers=[server],
            additionalDirectories=[tempfile.gettempdir()],
        )
        self.session = made.session_id
        self.checks.ok("session/new gives an id", made.session_id)
        self.checks.ok("session/new gives config options", made.config_options)
        self.checks.ok("session/new gives commands", made.available_commands)

    async def mcp(self) -> None:
        for name, servers in (
            ("unknown MCP transport", [{"type": "_interop.test/pigeon", "name": "p"}]),
            (
                "duplicate MCP server name",
                [{"type": "stdio", "name": "same", "command": "/bin/true"}] * 2,
            ),
        ):
            made = self.call("session/new", cwd=self.cwd, mcpServers=servers)
            await self.checks.rejects(name, made, -32602)

    # What comes of prompts.

    async def stream(self) -> None:
        five = await self.prompt("stream 5")
        (message,) = five.of("user_message")
        self.checks.equal("the answer has the message's id", five.message_id, message.message_id)
        self.checks.equal(
            "user message is echoed", [plain(b) for b in message.content], blocks("stream 5")
        )
        chunks = ["agent_message_chunk"] * 5
        expected = ["user_message", "running", *chunks, "idle"]
        self.checks.equal("order of kinds", five.kinds, expected)
        self.checks.equal("stream 5: text", five.text, "0;1;2;3;4;")
        self.checks.equal("stop reason is on idle", five.idle.stop_reason, "end_turn")
        self.checks.equal("background list is on idle", five.idle.background, [])
        many = await self.prompt("stream 2000")
        numbers = "".join(f"{number};" for number in range(2000))
        self.checks.equal("stream 2000: in order", many.text, numbers)
        large = await self.prompt("stream 2 3000000")
        self.checks.equal("stream 2 x 3 MB", len(large.text), 2 * 3_000_002)

    async def echo(self) -> None:
        sent = [
            {
                "type": "text",
                "text": "echo é 漢字 🎉 \u2028",
                "annotations": {"audience": ["user"], "priority": 0.5},
            },
            {
                "type": "resource_link",
                "uri": "file:///tmp/x",
                "name": "x",
                "icons": [{"src": "https://example.com/i.png", "theme": "dark"}],
            },
            {"type": "resource", "resource": {"uri": "file:///tmp/y", "text": "y"}},
            {"type": "_interop.test/block", "payload": {"keep": ["me", None]}},
        ]
        work = await self.prompt(sent)
        got = [plain(u.content) for u in work.of("agent_message_chunk")]
        self.checks.equal("content blocks round-trip, unknown ones too", got, sent)
        (message,) = work.of("user_message")
        kept = [plain(block) for block in message.content]
        self.checks.equal("user message keeps unknown blocks", kept, sent)

    async def everything(self) -> None:
        inner = (await self.prompt("everything")).updates[2:-1]
        self.checks.equal(
            "every stable update kind arrives unchanged", [plain(u) for u in inner], every_update()
        )
        data = [u.data for u in inner if u.session_update == "terminal_output_chunk"]
        joined = b"".join(base64.b64decode(part) for part in data)
        self.checks.equal("terminal chunks join at byte level", joined.decode(), "✓\n")

    async def upsert(self) -> None:
        updates = (await self.prompt("upsert")).updates[2:-1]
        content, meta = fold(updates)
        self.checks.equal("message content after upserts", content, ["kept", " and more"])
        self.checks.equal("message metadata after patches", meta, {"a": 1, "c": 3})

    async def cancel(self) -> None:
        work = await self.start_waiting()
        await self.cancel_work()
        idle = (await within(work)).idle
        self.checks.equal("session/cancel gives an idle cancelled", idle.stop_reason, "cancelled")

    async def permission(self) -> None:
        allowed = await self.prompt("permission")
        self.checks.equal("permission: allowed", allowed.text, "permission:yes")
        states = [u.state for u in allowed.of("state_update")]
        expected = ["running", "requires_action", "running", "idle"]
        self.checks.equal("permission: states", states, expected)
        subject = self.client.permissions[-1].subject
        self.checks.equal("permission: subject", subject.type, "tool_call")
        self.answer("no")
        refused = (await self.prompt("command rm -rf /")).text
        self.checks.equal("command permission refused", refused, "command:no")
        subject = self.client.permissions[-1].subject
        found = [subject.command, subject.cwd]
        self.checks.equal("command subject", found, ["rm -rf /", self.cwd])

        withdrawn = asyncio.Event()

        async def cancel_meanwhile(request: Any, ctx: v2.Context) -> Any:
            await self.agent.raw.notify("session/cancel", {"sessionId": self.session})
            try:
                await asyncio.Event().wait()
            finally:
                withdrawn.set()

        self.client.answer_permission = cancel_meanwhile
        idle = (await self.prompt("permission")).idle
        self.checks.equal("cancel during permission", idle.stop_reason, "cancelled")
        await within(withdrawn.wait())
        self.checks.ok("agent withdrew the permission request", True)
        self.answer("yes")

    def answer(self, option_id: str) -> None:
        async def chosen(request: Any, ctx: v2.Context) -> Any:
            return schema.AllowedOutcome(option_id=option_id)

        self.client.answer_permission = chosen

    async def tools(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/file.txt"
            await Path(path).write_text("file text ✓", "utf-8")
            work = await self.prompt(f"read {path}")
        self.checks.equal("agent read the file", work.text, "read:file text ✓")
        states = [u.status for u in work.of("tool_call_update")]
        self.checks.equal("tool call went through its states", states, ["in_progress", "completed"])
        ran = await self.prompt("run printf hi")
        chunks = ran.of("terminal_output_chunk")
        output = b"".join(base64.b64decode(u.data) for u in chunks)
        self.checks.equal("agent-owned terminal output", output, b"hi")
        code = ran.of("terminal_update")[-1].exit_status.exit_code
        self.checks.equal("agent-owned terminal exit", code, 0)

    async def elicit(self) -> None:
        text = (await self.prompt("elicit")).text
        self.checks.equal("elicitation answered", text, 'elicit:accept:{"name":"Ada"}')

    async def held(self) -> None:
        gate = asyncio.Event()

        async def wait_for_gate(request: Any, ctx: v2.Context) -> Any:
            await gate.wait()
            return schema.AllowedOutcome(option_id="yes")

        self.client.answer_permission = wait_for_gate
        start = len(self.client.updates)
        first = asyncio.create_task(self.prompt("permission"))
        await self.client.until(
            lambda n: getattr(n.update, "state", None) == "requires_action", start
        )
        order: list[str] = []

        async def hold(prompt: str) -> None:
            await self.submit(prompt)
            order.append(prompt)

        second = asyncio.create_task(hold("stream 1"))
        params = {"sessionId": self.session, "prompt": blocks("stream 9")}
        withdrawn = self.agent.request("session/prompt", params)
        third = asyncio.create_task(hold("stream 2"))
        await self.call("_interop.test/ping")
        self.checks.equal("held prompts are not answered yet", order, [])
        withdrawn.cancel()
        await self.checks.rejects("withdrawn prompt", withdrawn, -32800)
        gate.set()
        await within(asyncio.gather(first, second, third))
        self.checks.equal("held prompts are inserted in order", order, ["stream 1", "stream 2"])
        last = max(
            at
            for at, note in enumerate(self.client.updates)
            if note.update.session_update == "user_message"
        )
        await self.client.until(self.idle_of(self.session), last)
        blocked = await self.start_waiting()
        dropped = asyncio.create_task(self.submit("stream 3"))
        await self.call("_interop.test/ping")
        await self.cancel_work()
        await self.checks.rejects("session/cancel refuses held prompts", dropped, -32800)
        await within(blocked)
        self.answer("yes")

    async def errors(self) -> None:
        failed = await self.prompt("fail -32042")
        self.checks.ok("failure after insertion: prompt still succeeds", failed.message_id)
        error = failed.idle.error
        found = [failed.idle.stop_reason, error.code, error.data]
        expected = ["error", -32042, {"why": "interop"}]
        self.checks.equal("failure after insertion: idle carries the error", found, expected)
        rejects, session = self.checks.rejects, self.session
        data = {"why": "interop"}
        await rejects("failure before insertion", self.submit("reject -32042"), -32042, data)
        await rejects("empty prompt", self.submit([]), -32602)
        await rejects("unknown method", self.call("_interop.test/no_such_method"), -32601)
        bad = self.agent.raw.request("session/prompt", {"sessionId": session, "prompt": [7]})
        await rejects("malformed params", bad, -32602)
        await rejects("unknown session", self.submit("hi", "nope"), -32002, {"sessionId": "nope"})
        tool = self.call("tool_call/cancel", sessionId=session, toolCallId="nope")
        await rejects("nothing to cancel", tool, -32602)
        terminal = self.call("terminal/cancel", sessionId=session, terminalId="nope")
        await rejects("no terminal to cancel", terminal, -32602)

    async def background(self) -> None:
        work = await self.prompt("background")
        call = work.text.split(":")[1]
        listed = [plain(item) for item in work.idle.background]
        expected = [{"type": "tool_call", "toolCallId": call}]
        self.checks.equal("idle lists the background work", listed, expected)
        start = len(self.client.updates)
        await self.call("tool_call/cancel", sessionId=self.session, toolCallId=call)
        end = await self.client.until(lambda n: getattr(n.update, "background", None) == [], start)
        status = [
            u.status for u in self.since(start, end) if getattr(u, "tool_call_id", None) == call
        ]
        self.checks.equal("tool call cancelled before the list shrank", status, ["cancelled"])

    # What is outside the protocol, and what runs beside.

    async def extensions(self) -> None:
        ping = await self.call("_interop.test/ping", a=[1, None])
        self.checks.equal("custom request to the agent", ping, {"pong": {"a": [1, None]}})
        before = (await self.call("_interop.test/notes"))["count"]
        for number in range(3):
            await self.agent.notify("_interop.test/note", {"i": number})
        counted = 0
        for _ in range(20):
            # Some agents start a later request before an earlier notification.
            counted = (await self.call("_interop.test/notes"))["count"] - before
            if counted == 3:
                break
        self.checks.equal("custom notifications were counted", counted, 3)
        text = (await self.prompt("ext")).text
        self.checks.equal("custom request to the client", text, "ext:42")
        while {"n": 42} not in self.client.told:
            await self.client.arrival()
        self.checks.ok("custom notification to the client", True)

    async def concurrency(self) -> None:
        pings = await asyncio.gather(*(self.call("_interop.test/ping", i=i) for i in range(64)))
        numbers = [ping["pong"]["i"] for ping in pings]
        self.checks.equal("64 concurrent requests", numbers, list(range(64)))
        other = (await self.call("session/new", cwd=self.cwd)).session_id
        slow, quick = await asyncio.gather(
            self.prompt("sleep 200", other), self.prompt("stream 50")
        )
        found = [slow.text, len(quick.text) > 0]
        self.checks.equal("two sessions at once", found, ["slept:200", True])

    # Sessions.

    async def config(self) -> None:
        async def set_option(name: str, kind: str, value: Any) -> Any:
            params = {"configId": name, "type": kind, "value": value}
            return await self.call("session/set_config_option", sessionId=self.session, **params)

        def value_of(options: Iterable[Any], name: str) -> Any:
            return next(o.current_value for o in options if o.config_id == name)

        options = (await set_option("mode", "id", "code")).config_options
        self.checks.equal("select option set", value_of(options, "mode"), "code")
        options = (await set_option("verbose", "boolean", True)).config_options
        self.checks.equal("boolean option set", value_of(options, "verbose"), True)
        wrong = set_option("verbose", "id", "yes")
        await self.checks.rejects("wrong value type", wrong, -32602)
        await self.checks.rejects("unknown option", set_option("nope", "id", "x"), -32602)
        (change,) = (await self.prompt("configure")).of("config_option_update")
        value = value_of(change.config_options, "model")
        self.checks.equal("agent-side change is announced", value, "smart")

    async def resume(self) -> None:
        spoken = await self.prompt("remember me")
        known = {"sessionId": self.session, "cwd": self.cwd}

        start = len(self.client.updates)
        await self.call("session/resume", **known)
        kinds = [u.session_update for u in self.since(start)]
        self.checks.equal("resume without replay sends only the state", kinds, ["state_update"])

        start = len(self.client.updates)
        response = await self.call("session/resume", **known, replayFrom={"type": "start"})
        updates = self.since(start)
        last = updates[-1].session_update
        self.checks.equal("replay ends with the state, before the response", last, "state_update")
        message = [u for u in updates if getattr(u, "message_id", None) == spoken.message_id]
        content = [plain(block) for block in message[-1].content]
        self.checks.equal("replay keeps message ids", content, blocks("remember me"))
        self.checks.ok(
            "resume returns config and commands",
            response.config_options and response.available_commands,
        )
        bad = self.call("session/resume", **known, replayFrom={"type": "_interop.test/x"})
        await self.checks.rejects("unknown replay cursor", bad, -32602)
        unknown = self.call("session/resume", sessionId="nope", cwd=self.cwd)
        await self.checks.rejects("resume of an unknown session", unknown, -32002)

    async def listing(self) -> None:
        folder = f"/tmp/listed-{uuid.uuid4()}"
        for _ in range(3):
            await self.call("session/new", cwd=folder)
        seen: list[str] = []
        cursor: Any = None
        while True:
            more = {} if cursor is None else {"cursor": cursor}
            page = await self.call("session/list", cwd=folder, **more)
            seen += [each.session_id for each in page.sessions]
            cursor = page.next_cursor
            if cursor is None:
                break
        self.checks.equal("list pages through all", len(set(seen)), 3)
        if self.agent.peer_supports("delete_session"):
            await self.call("session/delete", sessionId=seen[0])
            page = await self.call("session/list", cwd=folder)
            left = [each.session_id for each in page.sessions]
            self.checks.ok("deleted session is gone", seen[0] not in left)

    async def closing(self) -> None:
        work = await self.start_waiting()
        await self.call("session/close", sessionId=self.session)
        idle = (await within(work)).idle
        self.checks.equal("close reports idle cancelled first", idle.stop_reason, "cancelled")
