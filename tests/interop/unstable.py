"""A client of the unstable methods of version 1 or of version 2, for the interop tests.

`python -m tests.interop.unstable 1|2 COMMAND [ARGUMENT...]` starts the agent, prints one JSON
object per check and exits with 0 only when all held. Owns the scenarios, which are those that the
peers' client runs, but for those of MCP; they are written once, on the schema of either version.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import acp
from acp import v1, v2
from tests.interop.agent_unstable import ACCOUNT, FEATURES, USAGE, unstable_updates
from tests.interop.checks import Checks, within
from tests.interop.running_v2 import plain

__all__ = ("UnstableClient",)

ORDER = "system_prompt usage updates fork title archive providers auth_status"
URL = "http://127.0.0.1:1"
BRIEF = {"mode": "append", "content": [{"type": "text", "text": "Be brief"}]}


class UnstableClient:
    """Keeps what it is told, and runs the scenarios on a connection."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.schema: Any = (v1 if version == 1 else v2).schema
        self._updates: list[Any] = []
        self._arrived = asyncio.Event()
        self._signed_in = asyncio.Event()
        if version == 1:
            capabilities = v1.schema.ClientCapabilities.model_validate(
                {"plan": {}, "subagents": {}}
            )
            self.endpoint = v1.Client(
                "interop-unstable-client", "1.0.0", capabilities=capabilities, features=FEATURES
            )
        else:
            self.endpoint = v2.Client("interop-unstable-client", "1.0.0", features=FEATURES)
        self.endpoint.handle_with(self)

    def session_update(self, note: Any) -> None:
        self._updates.append(note.update)
        self._arrived.set()

    def auth_status_update(self, status: Any) -> None:
        if status.state == "authenticated":
            self._signed_in.set()

    async def run(self, checks: Checks, connection: Any) -> None:
        """Runs every scenario. One that breaks off fails alone, unless it is the opening."""
        self.checks, self.agent = checks, connection
        await within(connection.initialize())
        names = ("fork", "archive", "status", "title", "system_prompt.mode.override")
        gate = "session_capabilities" if self.version == 1 else "session"
        for name in names:
            checks.ok(f"offered: {name}", connection.peer_supports(f"{gate}.{name}"))
        brief = self.schema.SystemPrompt.model_validate(BRIEF)
        self.session = await self.new(system_prompt=brief)
        for name in ORDER.split():
            try:
                await getattr(self, name)()
            except Exception as exc:  # noqa: BLE001, PERF203 - printed, and counted as failed
                checks.ok(f"{name}: no exception", False, failure=repr(exc)[:400])

    async def call(self, kind: str, **members: Any) -> Any:
        """Sends the request of a kind: `SetProvider`, …"""
        return await within(self.agent.request(getattr(self.schema, f"{kind}Request")(**members)))

    async def new(self, **members: Any) -> str:
        made = await self.call("NewSession", cwd="/tmp", mcp_servers=[], **members)
        return made.session_id

    async def prompt(self, text: str, session: str = "") -> tuple[list[Any], Any]:
        """What comes of a prompt: the updates, and the tokens that it took."""
        self._updates.clear()
        block = self.schema.TextContentBlock(text=text)
        wanted = session or self.session
        answer = await self.call("Prompt", session_id=wanted, prompt=[block])
        if self.version == 1:
            return [*self._updates], answer.usage
        while not isinstance(self._updates[-1], v2.schema.IdleStateUpdate):
            self._arrived.clear()
            await within(self._arrived.wait())
        return [*self._updates], self._updates[-1].usage

    async def system_prompt_of(self, session: str = "") -> Any:
        updates, _ = await self.prompt("system", session)
        kind = self.schema.AgentMessageChunk
        return json.loads(next(each.content.text for each in updates if isinstance(each, kind)))

    # The scenarios.

    async def system_prompt(self) -> None:
        self.checks.equal("system prompt arrives", await self.system_prompt_of(), BRIEF)
        unknown = self.schema.SystemPrompt.model_validate({**BRIEF, "mode": "_interop.test/x"})
        made = self.new(system_prompt=unknown)
        await self.checks.rejects("unknown system prompt mode", made, -32602)

    async def usage(self) -> None:
        _, usage = await self.prompt("nothing")
        self.checks.equal("usage of the work", plain(usage), USAGE)

    async def updates(self) -> None:
        name = "SessionNotification" if self.version == 1 else "UpdateSessionNotification"
        kind = getattr(self.schema, name)
        expected = [
            kind.model_validate({"sessionId": self.session, "update": update}).update
            for update in unstable_updates(self.version)
        ]
        got, _ = await self.prompt("unstable-updates")
        own = [update for update in got if not self.is_of_work(update)]
        self.checks.equal("every unstable update kind arrives unchanged", own, expected)

    def is_of_work(self, update: Any) -> bool:
        """Whether an update tells of the work itself, as on version 2 those of each prompt do."""
        is_state = update.session_update == "state_update" and not update.background
        return is_state or update.session_update == "user_message"

    async def fork(self) -> None:
        made = await self.call("ForkSession", session_id=self.session, cwd="/tmp", mcp_servers=[])
        self.checks.ok("fork gives a new id", made.session_id not in ("", self.session))
        kept = await self.system_prompt_of(made.session_id)
        self.checks.equal("fork keeps the system prompt", kept["mode"], "append")

    async def title(self) -> None:
        long, wanted = "  A very long title indeed  ", "A very long title in"
        answer = await self.call("SetSessionTitle", session_id=self.session, title=long)
        self.checks.equal("title is normalized", answer.title, wanted)
        empty = self.call("SetSessionTitle", session_id=self.session, title="   ")
        await self.checks.rejects("empty title", empty, -32602)

    async def archive(self) -> None:
        async def status(session: str) -> str:
            return (await self.call("SessionStatus", session_id=session)).status

        async def listed(**wanted: str) -> list[str]:
            found = await self.call("ListSessions", **wanted)
            return [each.session_id for each in found.sessions]

        other = await self.new()
        self.checks.equal("status open", await status(other), "open")
        for _ in range(2):
            await self.call("ArchiveSession", session_id=other)
        self.checks.equal("status saved", await status(other), "saved")
        self.checks.ok("archived is hidden", other not in await listed())
        self.checks.ok("archived is listed", other in await listed(archived="include"))
        self.checks.equal("archived only", await listed(archived="only"), [other])
        unknown = listed(archived="_interop.test/x")
        await self.checks.rejects("unknown archive filter", unknown, -32602)
        await self.call("UnarchiveSession", session_id=other)
        self.checks.ok("unarchived is back", other in await listed())
        await self.checks.rejects("status of an unknown session", status("nope"), -32002)

    async def providers(self) -> None:
        headers = {"X-Key": "v"}
        setting = {"provider_id": "main", "api_type": "anthropic", "base_url": URL}
        await self.call("SetProvider", **setting, headers=headers)
        found = {each.provider_id: each for each in (await self.call("ListProviders")).providers}
        current = found["main"].current
        self.checks.equal("provider set", [current.api_type, current.base_url], ["anthropic", URL])
        kept = [*found["extra"].supported]
        self.checks.equal("vendor protocol kept", kept, ["_interop.test/llm"])
        required = self.call("DisableProvider", provider_id="main")
        await self.checks.rejects("required provider cannot be disabled", required, -32602)
        await self.call("DisableProvider", provider_id="extra")

    async def auth_status(self) -> None:
        before = await self.call("AuthStatus")
        self.checks.equal("before login", before.state, "unauthenticated")
        await self.call("Authenticate" if self.version == 1 else "LoginAuth", method_id="interop")
        await within(self._signed_in.wait())
        (account,) = (await self.call("AuthStatus")).accounts
        self.checks.equal("after login", account.email, ACCOUNT["email"])


async def main(version: str, command: str, *arguments: str) -> int:
    checks, client = Checks(), UnstableClient(int(version))
    transport = acp.process_transport(command, *arguments, stderr=None)
    async with client.endpoint.connect(transport) as connection:
        await client.run(checks, connection)
    checks.equal("agent leaves when its input ends", transport.process.returncode, 0)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
