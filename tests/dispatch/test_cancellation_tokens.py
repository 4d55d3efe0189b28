"""What a handler sees of the cancellation of its request, and what it makes of it."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

import acp
from acp import v1, v2
from tests.endpoint_peer import agent, endpoint_under_test, says_nothing_more, told_of
from tests.raw_peer import agent_under_test, prompt, within
from tests.sides import turns, until
from tests.story import answer


class Cooperative:
    """An agent whose handlers look for themselves, with the tokens that they were given."""

    def __init__(self) -> None:
        self.tokens: dict[Any, acp.Cancellation] = {}
        self.contexts: dict[Any, v1.Context] = {}
        self.go = anyio.Event()
        self.endpoint = agent(cancel_handlers=False, cancel_prompts=False)
        self.endpoint.on_request("_x")(self.serve)
        self.endpoint.prompt(self.serve)

    async def serve(self, message: Any, ctx: v1.Context) -> Any:
        self.contexts[ctx.request_id] = ctx
        self.tokens[ctx.request_id] = ctx.cancellation
        await self.go.wait()
        return {"stopReason": "end_turn"}


async def test_a_token_tells_of_the_cancellation_and_wakes_who_waits() -> None:
    """C-104: taken before or after it, by any number."""
    side = Cooperative()
    async with endpoint_under_test(side.endpoint) as (connection, peer):
        for number in (1, 2):
            await peer.request(number, "_x", {})
        await until(lambda: len(side.tokens) == 2)
        waiting = [peer.start(side.tokens[1].wait()) for _ in range(3)]
        await turns()
        assert not any(each.done() for each in waiting)
        assert not side.tokens[1].is_cancelled
        await peer.notify("$/cancel_request", {"requestId": 1})
        for each in waiting:
            await within(each)
        assert side.tokens[1].is_cancelled
        assert side.contexts[1].cancellation.is_cancelled
        await within(side.contexts[1].cancellation.wait())
        assert not side.tokens[2].is_cancelled
        side.go.set()
        answers = [await peer.receive() for _ in range(2)]
        assert {each["id"]: "result" in each for each in answers} == {1: True, 2: True}
        # The id is used again: the old token is not touched, nor is the new one by the old.
        side.go = anyio.Event()
        await peer.request(2, "_x", {})
        old = side.tokens[2]
        await until(lambda: side.tokens[2] is not old)
        await peer.notify("$/cancel_request", {"requestId": 2})
        await within(side.tokens[2].wait())
        assert not old.is_cancelled
        side.go.set()
        assert (await peer.receive())["id"] == 2
        assert connection.stats().unanswered == 0


async def test_a_token_of_a_turn_tells_of_its_session_cancel() -> None:
    endpoint = agent()
    told: list[bool] = []

    @endpoint.prompt
    async def _(message: Any, ctx: v1.Context) -> Any:
        with anyio.CancelScope(shield=True):
            await ctx.cancellation.wait()
        told.append(ctx.cancellation.is_cancelled)
        return v1.schema.PromptResponse(stop_reason="cancelled")

    async with endpoint_under_test(endpoint) as (connection, peer):
        await peer.request(1, "session/prompt", prompt())
        await until(lambda: connection.stats().handlers == 1)
        await peer.notify("session/cancel", {"sessionId": "s"})
        assert (await peer.receive())["result"] == {"stopReason": "cancelled"}
        assert told == [True]


async def test_a_drop_in_handler_finds_its_token_on_the_connection() -> None:
    """C-104: the same name in both layers."""
    seen: list[bool] = []

    class Agent(acp.Agent):
        def on_connect(self, conn: Any) -> None:
            self.conn = conn

        async def ext_method(self, method: str, params: Any) -> Any:
            seen.append(self.conn.cancellation.is_cancelled)
            await self.conn.cancellation.wait()
            seen.append(self.conn.cancellation.is_cancelled)
            return {"partial": True}

    async with agent_under_test(Agent(), cancel_handlers=False) as (peer, connection):
        with pytest.raises(RuntimeError, match="no handler of a request"):
            _ = connection.cancellation
        await peer.request(1, "_x", {})
        await until(lambda: seen == [False])
        await peer.notify("$/cancel_request", {"requestId": 1})
        assert (await peer.receive())["result"] == {"partial": True}
        assert seen == [False, True]


async def run_with(
    peer: Any, side: Cooperative, work: Any, *, cancelled: bool = False
) -> tuple[Any, acp.Cancellation]:
    """What `run` of a token, whose request may be cancelled already, does with some work."""
    await peer.request(1, "_x", {})
    await until(lambda: 1 in side.tokens)
    token = side.tokens[1]
    if cancelled:
        await peer.notify("$/cancel_request", {"requestId": 1})
        await within(token.wait())
    return peer.start(token.run(work)), token


async def test_work_under_a_token_gives_its_value_or_its_failure() -> None:
    """C-104."""
    side = Cooperative()

    async def value() -> int:
        await anyio.lowlevel.checkpoint()
        return 5

    async def fails() -> int:
        await anyio.lowlevel.checkpoint()
        raise KeyError

    async with endpoint_under_test(side.endpoint) as (_, peer):
        running, token = await run_with(peer, side, value())
        assert await within(running) == 5
        with pytest.raises(KeyError):
            await within(token.run(fails()))
        side.go.set()
        await peer.receive()


async def test_work_under_a_token_is_ended_by_the_cancellation() -> None:
    """C-104: -32800 is what is raised then."""
    side = Cooperative()
    ended: list[str] = []

    async def work() -> None:
        try:
            await anyio.Event().wait()
        except anyio.get_cancelled_exc_class():
            ended.append("cancelled")
            raise

    async with endpoint_under_test(side.endpoint) as (_, peer):
        running, _ = await run_with(peer, side, work())
        await turns()
        await peer.notify("$/cancel_request", {"requestId": 1})
        with pytest.raises(acp.RequestError) as caught:
            await within(running)
        assert caught.value.code == -32800
        assert ended == ["cancelled"]
        side.go.set()
        await peer.receive()


async def test_work_under_a_token_that_is_cancelled_already_never_begins() -> None:
    """C-104."""
    side = Cooperative()
    begun: list[str] = []

    async def work() -> None:
        begun.append("begun")

    async with endpoint_under_test(side.endpoint) as (_, peer):
        running, _ = await run_with(peer, side, work(), cancelled=True)
        with pytest.raises(acp.RequestError) as caught:
            await within(running)
        assert (caught.value.code, begun) == (-32800, [])
        side.go.set()
        await peer.receive()


async def test_a_request_of_ours_under_a_token_is_cancelled_with_it() -> None:
    """C-104: the peer is told."""
    endpoint = agent(cancel_handlers=False)

    @endpoint.on_request("_up")
    async def _(message: Any, ctx: v1.Context) -> Any:
        return await ctx.cancellation.run(ctx.connection.request("_down", {}))

    async with endpoint_under_test(endpoint) as (connection, peer):
        await peer.request("up", "_up", {})
        down = await peer.receive()
        await peer.notify("$/cancel_request", {"requestId": "up"})
        messages = [await peer.receive() for _ in range(2)]
        assert sorted(str(each.get("id")) for each in messages) == ["None", "up"]
        (told,) = [each for each in messages if "id" not in each]
        assert told["params"] == {"requestId": down["id"]}
        (reply,) = [each for each in messages if "id" in each]
        assert reply["error"]["code"] == -32800
        assert connection.stats().calls == 0


@pytest.mark.parametrize("answered", [None, {"partial": True}, acp.RequestError(-32800, "Own")])
async def test_a_cooperative_handler_answers_by_itself_after_the_cancellation(
    answered: Any,
) -> None:
    """C-105: with a result or with -32800; nothing is answered for it."""
    endpoint = agent(cancel_handlers=False)

    @endpoint.on_request("_x")
    async def _(message: Any, ctx: v1.Context) -> Any:
        await ctx.cancellation.wait()
        if isinstance(answered, Exception):
            raise answered
        return answered

    async with endpoint_under_test(endpoint) as (connection, peer):
        await peer.request(1, "_x", {})
        await until(lambda: connection.stats().handlers == 1)
        await peer.notify("$/cancel_request", {"requestId": 1})
        reply = await peer.receive()
        if isinstance(answered, Exception):
            assert reply["error"] == {"code": -32800, "message": "Own"}
        else:
            assert reply["result"] == answered


async def test_a_prompt_of_version_2_that_is_cancelled_before_its_message_is_accepted() -> None:
    """C-105: it is answered as cancelled."""
    endpoint = v2.Agent(version_guard=False)

    @endpoint.prompt
    async def _(message: Any) -> Any:
        await anyio.Event().wait()

    async with endpoint_under_test(endpoint) as (connection, peer):
        await peer.request(1, "session/prompt", {"sessionId": "s", "prompt": []})
        await until(lambda: connection.stats().handlers == 1)
        await peer.notify("$/cancel_request", {"requestId": 1})
        assert (await peer.receive())["error"]["code"] == -32800


async def test_a_notification_has_no_cancellation_no_responder_and_no_answer_to_wait_for() -> None:
    refused: list[str] = []
    endpoint = agent()

    @endpoint.on_notification("_x")
    async def _(message: Any, ctx: v1.Context) -> None:
        for use in (
            lambda: ctx.cancellation,
            ctx.defer,
            lambda: ctx.after_answer(print),
        ):
            with pytest.raises(RuntimeError, match="no answer") as caught:
                use()
            refused.append(str(caught.value))

    async with endpoint_under_test(endpoint) as (connection, peer):
        await peer.notify("_x", {})
        await until(lambda: len(refused) == 3)
        assert connection.stats().handlers == 0


# By another request.


@pytest.mark.parametrize("already", [False, True])
async def test_a_request_is_cancelled_with_any_of_several_others(already: bool) -> None:
    """C-099: at once when one of them is cancelled already."""
    endpoint = agent(cancel_handlers=False)
    tokens: dict[Any, acp.Cancellation] = {}
    done = anyio.Event()

    @endpoint.on_request("_up")
    async def _(message: Any, ctx: v1.Context) -> Any:
        tokens[ctx.request_id] = ctx.cancellation
        await done.wait()
        return {}

    async with endpoint_under_test(endpoint) as (connection, peer):
        for number in range(3):
            await peer.request(number, "_up", {})
        await until(lambda: len(tokens) == 3)
        if already:
            await peer.notify("$/cancel_request", {"requestId": 1})
            await within(tokens[1].wait())
        sent = connection.request("_down", {})
        for token in tokens.values():
            assert sent.cancel_with(token) is sent
        request = await peer.receive()
        if not already:
            await says_nothing_more(connection, peer)
            await peer.notify("$/cancel_request", {"requestId": 1})
        assert await peer.receive() == told_of(request)
        await peer.notify("$/cancel_request", {"requestId": 2})
        await within(tokens[2].wait())
        await says_nothing_more(connection, peer)
        await peer.send(answer(request, {}))
        await within(sent)
        done.set()
        assert sorted([(await peer.receive())["id"] for _ in range(3)]) == [0, 1, 2]


async def test_a_request_that_is_answered_is_forgotten_by_those_it_would_be_cancelled_with() -> (
    None
):
    """However many a long turn makes."""
    endpoint = agent(cancel_handlers=False)
    tokens: list[acp.Cancellation] = []

    @endpoint.on_request("_up")
    async def _(message: Any, ctx: v1.Context) -> Any:
        tokens.append(ctx.cancellation)
        await ctx.cancellation.wait()
        return {}

    async with endpoint_under_test(endpoint) as (connection, peer):
        await peer.request(1, "_up", {})
        await until(lambda: len(tokens) == 1)
        flag = connection.raw.serving.cancellation(tokens[0]._run)
        for number in range(50):
            sent = connection.request("_down", {}).cancel_with(tokens[0])
            await peer.send(answer(await peer.receive(), {}))
            await within(sent)
            assert sent.id == number
        assert not flag._functions
        await peer.notify("$/cancel_request", {"requestId": 1})
        assert (await peer.receive())["id"] == 1
