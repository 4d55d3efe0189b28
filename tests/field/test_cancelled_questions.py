"""Permission requests of a turn that the client itself cancels."""

from __future__ import annotations

import pytest

import acp
from tests.field.test_permissions import ASKING, Dialog
from tests.field.wires import wired
from tests.raw_peer import within
from tests.sides import turns


@pytest.mark.parametrize("count", [1, 3])
async def test_a_permission_is_answered_as_cancelled_when_the_client_cancels_its_turn(
    count: int,
) -> None:
    """C22: at once; the user's late click sends nothing."""
    dialog = Dialog()
    async with wired("client", dialog) as (agent, peer):
        turn = peer.start(agent.prompt(session_id="s", prompt=[acp.text_block("go")]))
        asked = await peer.receive()
        for number in range(count):
            await peer.request(number, "session/request_permission", ASKING)
        other = {**ASKING, "sessionId": "other"}
        await peer.request("other", "session/request_permission", other)
        await within(dialog.open.wait())
        await within(agent.cancel("s"))
        messages = [await peer.receive() for _ in range(count + 1)]
        answers = {m["id"]: m["result"] for m in messages if "id" in m}
        cancelled = {"outcome": {"outcome": "cancelled"}}
        assert answers == dict.fromkeys(range(count), cancelled)
        await peer.answer(asked["id"], {"stopReason": "cancelled"})
        assert (await within(turn)).stop_reason == "cancelled"
        dialog.clicked.set()
        await turns()
        assert (await peer.receive())["id"] == "other"
        assert (await peer.exchange(8, "nobody"))["id"] == 8
