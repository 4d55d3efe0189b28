"""`session/resume` on an agent of version 2: the state behind the replay and before the answer."""

from __future__ import annotations

from typing import Any

import pytest

import acp
from acp import v2
from tests.endpoint.v2_client import (
    RUNNING,
    Gate,
    accepted,
    agent_of,
    chunk,
    failed,
    idle,
    said,
    schema,
    served,
    session_of,
    text,
    user_message,
)

START = {"type": "start"}


def resume(request_id: int, replay_from: Any = None, session: str = "s1") -> dict[str, Any]:
    params = {"sessionId": session, "cwd": "/"}
    if replay_from is not None:
        params["replayFrom"] = replay_from
    return {"id": request_id, "method": "session/resume", "params": params}


def resumed(request_id: int) -> dict[str, Any]:
    return {"id": request_id, "result": {}}


HISTORY: list[Any] = [
    schema.UserMessage(message_id="m0", content=[text("hi")]),
    schema.RunningStateUpdate(),
    said("hello"),
    schema.RequiresActionStateUpdate(),
    schema.UnknownStateUpdate(),
    schema.OtherStateUpdate(state="_test/other"),
    schema.IdleStateUpdate(stop_reason="end_turn"),
]


class Resuming:
    """An agent that replays, when it is asked to."""

    def __init__(self, **options: Any) -> None:
        self.gate = Gate()
        self.asked: list[Any] = []
        self.agent = agent_of(self.on_prompt, **options)
        self.agent.resume_session(self.on_resume)

    async def on_prompt(self, request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1"):
            await self.gate.wait()

    async def on_resume(
        self, request: schema.ResumeSessionRequest, ctx: v2.Context
    ) -> schema.ResumeSessionResponse:
        self.asked.append(request.replay_from and request.replay_from.type)
        if request.session_id == "nope":
            raise acp.RequestError(-32002, "Session not found")
        if request.replay_from is not None:
            await ctx.session.replay(HISTORY)
        return schema.ResumeSessionResponse()


async def test_the_state_comes_before_the_answer_also_without_a_replay() -> None:
    """C-234."""
    async with served(Resuming().agent) as peer:
        await peer.send(resume(1))
        await peer.expect(idle(), resumed(1))
        await peer.quiet()


async def test_the_state_comes_behind_the_replay_which_has_none() -> None:
    """C-234, C-241."""
    async with served(Resuming().agent) as peer:
        await peer.send(resume(1, START))
        await peer.expect(user_message("m0"), chunk("hello"), idle(), resumed(1))
        await peer.quiet()


async def test_a_session_in_work_is_resumed_as_running() -> None:
    """C-234."""
    resuming = Resuming()
    async with session_of(resuming.agent) as peer:
        await peer.prompt(1)
        await peer.expect(user_message("m1"), accepted(1, "m1"), RUNNING)
        await peer.send(resume(2), resume(3))
        await peer.expect(RUNNING, resumed(2), RUNNING, resumed(3))
        resuming.gate.open()
        await peer.expect(idle("end_turn"))
        # The end of that work is not told again.
        await peer.send(resume(4))
        await peer.expect(idle(), resumed(4))
        await peer.quiet()


async def test_a_resumed_session_takes_prompts() -> None:
    """C-234."""
    resuming = Resuming()
    resuming.gate.open()
    async with served(resuming.agent) as peer:
        await peer.send(resume(1))
        await peer.expect(idle(), resumed(1))
        await peer.prompt(2)
        await peer.expect(user_message("m1"), accepted(2, "m1"), RUNNING, idle("end_turn"))


async def test_a_replay_cursor_of_another_type_is_refused_without_asking_the_handler() -> None:
    """C-241."""
    resuming = Resuming()
    async with served(resuming.agent) as peer:
        await peer.send(resume(1, {"type": "_test/x", "at": 3}))
        message = "is no replay cursor that this agent supports"
        fault = {"loc": ["replayFrom", "type"], "type": "unsupported", "message": message}
        await peer.expect(failed(1, -32602, "Invalid params", [fault]))
        await peer.prompt(2)
        await peer.expect(failed(2, -32002, "Session not found", {"sessionId": "s1"}))
        await peer.quiet()
    assert resuming.asked == []


async def test_an_agent_names_the_replay_cursors_that_it_knows() -> None:
    """C-241."""
    resuming = Resuming()
    resuming.agent.keep_sessions(replay_from=["_test/x"])
    async with served(resuming.agent) as peer:
        await peer.send(resume(1, START))
        assert (await peer.receive())["error"]["code"] == -32602
        await peer.send(resume(2, {"type": "_test/x", "at": 3}))
        await peer.expect(user_message("m0"), chunk("hello"), idle(), resumed(2))
    assert resuming.asked == ["_test/x"]


async def test_a_refused_resume_opens_nothing_and_tells_no_state() -> None:
    """C-234."""
    async with served(Resuming().agent) as peer:
        await peer.send(resume(1, session="nope"))
        await peer.expect(failed(1, -32002, "Session not found"))
        await peer.prompt(2, session="nope")
        await peer.expect(failed(2, -32002, "Session not found", {"sessionId": "nope"}))
        await peer.quiet()


async def test_a_refused_resume_leaves_a_session_open_that_was() -> None:
    """C-234."""
    resuming = Resuming()
    async with session_of(resuming.agent) as peer:
        await peer.send(resume(1, {"type": "_test/x"}))
        assert (await peer.receive())["error"]["code"] == -32602
        await peer.prompt(2)
        await peer.expect(user_message("m1"), accepted(2, "m1"), RUNNING)


@pytest.mark.parametrize("opens", [False, True])
async def test_by_hand_the_state_is_told_for_a_session_that_was_opened(opens: bool) -> None:
    """C-234, C-241."""
    agent = agent_of(keep=False)

    @agent.resume_session
    async def _(request: Any, ctx: v2.Context) -> schema.ResumeSessionResponse:
        v2.check_replay(request)
        if opens:
            ctx.connection.agent_sessions.open(request.session_id)
        return schema.ResumeSessionResponse()

    async with served(agent) as peer:
        await peer.send(resume(1, {"type": "_test/x"}))
        assert (await peer.receive())["error"]["code"] == -32602
        await peer.send(resume(2))
        await peer.expect(*([idle()] if opens else []), resumed(2))
        await peer.quiet()


async def test_a_snapshot_may_be_sent_at_any_time() -> None:
    """C-232."""

    async def on_prompt(request: Any, ctx: v2.Context) -> None:
        async with ctx.foreground("m1"):
            await ctx.session.snapshot()
        await ctx.session.snapshot()

    async with session_of(agent_of(on_prompt)) as peer:
        await peer.prompt(1)
        await peer.expect(
            user_message("m1"), accepted(1, "m1"), RUNNING, RUNNING, idle("end_turn"), idle()
        )
        await peer.quiet()


async def test_a_forked_session_is_open_under_its_own_id() -> None:
    resuming = Resuming(features=["session_fork"])
    resuming.gate.open()

    @resuming.agent.fork_session
    async def _(request: Any) -> Any:
        return {"sessionId": "s2"}

    async with session_of(resuming.agent) as peer:
        await peer.request(1, "session/fork", {"sessionId": "s1", "cwd": "/"})
        assert (await peer.receive())["result"]["sessionId"] == "s2"
        await peer.prompt(2, session="s2")
        assert await peer.receive() == user_message("m1", session="s2")
