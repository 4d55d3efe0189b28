"""A projection that is given updates alone, as a stream of a session has them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import acp
from acp.v2 import SessionProjection, schema
from tests.endpoint.session_peers import client_of, opened
from tests.raw_peer import within
from tests.v2.agent_model import Session
from tests.v2.projected import projected
from tests.v2.wire import params


@pytest.mark.parametrize("seed", range(5))
def test_updates_alone_amount_to_what_their_notifications_do(seed: int) -> None:
    random = Random(seed)
    session = Session("s", random)
    whole, alone = SessionProjection("s"), SessionProjection("s")
    for _ in range(300):
        for update in session.step():
            message = params(update)
            assert whole.apply(message)
            assert alone.apply(message.update)
    assert projected(alone) == projected(whole) == session.expected()
    assert alone.stats() == whole.stats()


def test_a_session_that_an_update_is_about_is_not_the_one_that_it_is_of() -> None:
    projection = SessionProjection("s")
    assert projection.apply(schema.SubagentUpdate(session_id="other", title="t"))
    assert projection.ids("subagent") == ["other"]
    notification = schema.UpdateSessionNotification(
        session_id="other", update=schema.SessionInfoUpdate(title="t")
    )
    assert not projection.apply(notification)


def test_what_is_no_update_is_refused_as_before() -> None:
    projection = SessionProjection("s")
    for wrong in (None, 5, {}, schema.PromptResponse(), acp.text_block("x")):
        with pytest.raises(TypeError):
            projection.apply(wrong)  # type: ignore[arg-type]
    assert projection.stats().messages == 0


async def test_a_stream_of_updates_can_be_folded_as_it_is_read() -> None:
    content = {"type": "text", "text": "a"}
    said: dict[str, Any] = {
        "sessionUpdate": "agent_message_chunk",
        "messageId": "m",
        "content": content,
    }
    async with opened(client_of(2)) as (connection, peer):
        starting = peer.start(connection.new_session("/"))
        request = await peer.receive()
        await peer.answer(request["id"], {"sessionId": "s1"})
        session = (await within(starting)).session
        view = SessionProjection(session.session_id)
        async with session.updates() as updates:
            for update in (said, said, {"sessionUpdate": "state_update", "state": "idle"}):
                told = {"sessionId": "s1", "update": update}
                await peer.send({"method": "session/update", "params": told})
                view.apply(await within(updates.__anext__()))
    (message,) = view.timeline()
    assert message.content[0].text == "aa"
    assert view.is_idle
