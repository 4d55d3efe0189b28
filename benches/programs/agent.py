"""An agent that runs unchanged on every `acp`: it answers, and streams as many chunks as asked."""

from __future__ import annotations

import asyncio
from typing import Any

import acp
from acp.schema import InitializeResponse, NewSessionResponse, PromptResponse

TEXT = "The parser takes one line, and then stops."


class StreamingAgent(acp.Agent):
    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id="session-7f3a")

    async def prompt(self, prompt: list[Any], session_id: str, **kwargs: Any) -> PromptResponse:
        for _ in range(int(prompt[0].text)):
            update = acp.update_agent_message(acp.text_block(TEXT))
            await self.conn.session_update(session_id, update)
        return PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    asyncio.run(acp.run_agent(StreamingAgent()))
