"""Permission requests whose turn, or whose agent, is gone before the user has clicked."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel

import acp
from acp import Limits, schema
from tests.field.wires import each_cut, wired
from tests.raw_peer import prompt, within
from tests.sides import turns

ASKING = {
    "sessionId": "s",
    "toolCall": {"toolCallId": "t"},
    "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}],
}


class Dialog(acp.Client):
    """A permission dialog: the user clicks when `clicked` is set."""

    def __init__(self) -> None:
        self.open = anyio.Event()
        self.clicked = anyio.Event()
        self.closed: list[str] = []

    async def request_permission(self, session_id: str, **kwargs: Any) -> Any:
        self.open.set()
        try:
            await self.clicked.wait()
            self.closed.append("clicked")
        except anyio.get_cancelled_exc_class():
            self.closed.append("cancelled")
            raise
        return {"outcome": {"outcome": "selected", "optionId": "y"}}


@each_cut
async def test_a_permission_that_the_agent_cancels_is_answered_at_once_and_once(
    cut: int | None,
) -> None:
    """C22: the dialog is told, and a late click sends nothing."""
    dialog = Dialog()
    async with wired("client", dialog, cut=cut) as (_, peer):
        await peer.request(7, "session/request_permission", ASKING)
        await within(dialog.open.wait())
        await peer.notify("$/cancel_request", {"requestId": 7})
        answer = await peer.receive()
        assert (answer["id"], answer["result"]) == (7, {"outcome": {"outcome": "cancelled"}})
        dialog.clicked.set()
        await turns()
        assert (await peer.exchange(8, "nobody"))["id"] == 8
    assert dialog.closed == ["cancelled"]


async def test_a_click_in_time_counts_and_a_cancel_behind_it_changes_nothing() -> None:
    """C22."""
    dialog = Dialog()
    async with wired("client", dialog) as (_, peer):
        await peer.request(7, "session/request_permission", ASKING)
        await within(dialog.open.wait())
        dialog.clicked.set()
        assert (await peer.receive())["result"]["outcome"]["optionId"] == "y"
        await peer.notify("$/cancel_request", {"requestId": 7})
        assert (await peer.exchange(8, "nobody"))["id"] == 8


async def test_a_dialog_is_closed_when_the_agent_goes() -> None:
    """C22, C06: nobody can be answered any more."""
    dialog = Dialog()
    async with wired("client", dialog, limits=Limits(closing=0.05)) as (_, peer):
        await peer.request(7, "session/request_permission", ASKING)
        await within(dialog.open.wait())
        await peer.transport.close()
    assert dialog.closed == ["cancelled"]


async def test_an_agent_whose_turn_is_cancelled_takes_its_question_back() -> None:
    """C22: with both sides of this library the dialog closes, too."""

    class Asking(acp.Agent):
        client: Any

        def on_connect(self, conn: Any) -> None:
            self.client = conn

        async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
            option = schema.PermissionOption(option_id="y", name="Yes", kind="allow_once")
            tool = schema.ToolCallUpdate(tool_call_id="t")
            await self.client.request_permission(session_id, tool, [option])

    async with wired("agent", Asking()) as (_, peer):
        await peer.request(1, "session/prompt", prompt())
        question = await peer.receive()
        await peer.notify("session/cancel", {"sessionId": "s"})
        messages = [await peer.receive() for _ in range(2)]
        told = next(message for message in messages if "method" in message)
        assert told["params"] == {"requestId": question["id"]}
        # The answer that the client has to give all the same is swallowed.
        await peer.answer(question["id"], {"outcome": {"outcome": "cancelled"}})
        assert (await peer.exchange(2, "nobody"))["id"] == 2
