"""Arrays of messages."""

from __future__ import annotations

import itertools
import json
from typing import Any

import anyio
import hypothesis
import hypothesis.strategies as st
import pytest

import acp
from tests.conftest import BACKENDS
from tests.field.wires import Echo, answer_of, each_cut, each_side, each_wire, wired
from tests.raw_peer import within

ECHO = b'{"jsonrpc":"2.0","id":1,"method":"_x/echo","params":{"a":1}}'
CANCEL = b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}'
NOBODY = b'{"jsonrpc":"2.0","id":"b","method":"nope"}'


def by_id(answers: list[Any]) -> dict[Any, Any]:
    found = {answer["id"]: answer for answer in answers}
    assert len(found) == len(answers)
    return found


@each_wire
@each_cut
@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
async def test_each_entry_of_an_array_is_answered_in_one_array(
    wire: str, cut: int | None, order: tuple[int, ...]
) -> None:
    """C02: a request, a notification, a number and an unknown method, in any order."""
    entries = [ECHO, CANCEL, b"17", NOBODY]
    async with wired("agent", Echo(), wire=wire, cut=cut) as (_, peer):
        await peer.send_bytes(b"[", b",".join(entries[index] for index in order), b"]\n")
        answers = by_id(await peer.receive())
        assert answers[1]["result"] == {"a": 1}
        assert answers[None]["error"]["code"] == -32600
        assert answers["b"]["error"]["code"] == -32601
        assert len(answers) == 3
        assert (await peer.exchange(2))["id"] == 2


@each_side
@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"[]", -32600),
        (b" [ ] ", -32600),
        (b"[1,2", -32700),
        (b'[{"jsonrpc":"2.0","id":1,"method":"_x/echo"},]', -32700),
    ],
)
async def test_an_array_that_is_empty_or_no_json_is_answered_with_one_object(
    side: str, line: bytes, code: int
) -> None:
    """C02."""
    echo = Echo()
    async with wired(side, echo) as (_, peer):
        await peer.send_bytes(line, b"\n")
        if side == "agent":
            answer = await peer.receive()
            assert (answer["id"], answer["error"]["code"]) == (None, code)
        assert (await peer.exchange(2))["id"] == 2
    assert len(echo.requests) == 1


@each_side
@pytest.mark.parametrize("count", [1, 3])
async def test_an_array_of_notifications_is_answered_by_nothing(side: str, count: int) -> None:
    """C02."""
    echo = Echo()
    async with wired(side, echo) as (_, peer):
        entries = [b'{"jsonrpc":"2.0","method":"_n/x","params":{"n":%d}}' % n for n in range(count)]
        await peer.send_bytes(b"[", b",".join(entries), b"]\n")
        assert (await peer.exchange(2))["id"] == 2
    assert echo.notes == [("n/x", {"n": number}) for number in range(count)]


@each_side
@each_cut
async def test_an_array_of_answers_settles_our_calls_and_is_answered_by_nothing(
    side: str, cut: int | None
) -> None:
    """C02."""
    async with wired(side, Echo(), cut=cut) as (connection, peer):
        first = peer.start(answer_of(connection))
        await peer.receive()
        second = peer.start(answer_of(connection))
        await peer.receive()
        await peer.send_bytes(
            b'[{"jsonrpc":"2.0","id":0,"result":{}},'
            b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}},'
            b'{"jsonrpc":"2.0","id":77,"result":{}}]\n'
        )
        assert await within(first) == {}
        with pytest.raises(acp.RequestError, match="no") as caught:
            await within(second)
        assert caught.value.code == -32000
        assert (await peer.exchange(2))["id"] == 2


@each_side
@pytest.mark.parametrize("bad", [b'"error":"boom"', b'"error":{"code":"x"}', b'"what":1'])
async def test_one_malformed_answer_in_an_array_fails_its_caller_alone(
    side: str, bad: bytes
) -> None:
    """C02, C05."""
    async with wired(side, Echo()) as (connection, peer):
        first = peer.start(answer_of(connection))
        await peer.receive()
        second = peer.start(answer_of(connection))
        await peer.receive()
        await peer.send_bytes(b'[{"jsonrpc":"2.0","id":0,', bad, b'},{"id":1,"result":{"b":2}}]\n')
        with pytest.raises(acp.RemoteProtocolError):
            await within(first)
        assert await within(second) == {"b": 2}
        assert (await peer.exchange(2))["id"] == 2


@each_side
async def test_requests_and_answers_may_share_an_array(side: str) -> None:
    """C02: the handler of the request waits for the answer beside it."""

    class Asking(Echo):
        connection: Any

        async def ext_method(self, method: str, params: Any) -> Any:
            return await self.connection.ext_method("x/back", params) if params else params

    asking = Asking()
    async with wired(side, asking) as (connection, peer):
        asking.connection = connection
        await peer.request(1, "_x/ask", {"q": 1})
        question = await peer.receive()
        await peer.send_bytes(
            b'[{"jsonrpc":"2.0","id":2,"method":"_x/ask"},{"jsonrpc":"2.0","id":%d,"result":{}}]\n'
            % question["id"]
        )
        answers = [await peer.receive() for _ in range(2)]
        assert {"jsonrpc": "2.0", "id": 1, "result": {}} in answers
        assert [{"jsonrpc": "2.0", "id": 2, "result": {}}] in answers


ENTRIES: dict[str, tuple[bytes, int | None]] = {
    "request": (b'{"jsonrpc":"2.0","id":%d,"method":"_x/echo"}', 0),
    "unknown": (b'{"jsonrpc":"2.0","id":%d,"method":"nope"}', -32601),
    "notification": (b'{"jsonrpc":"2.0","method":"_n/%d"}', None),
    "number": (b"%d", -32600),
    "array": (b"[%d]", -32600),
    "old": (b'{"jsonrpc":"1.0","id":%d,"method":"_x/echo"}', -32600),
    "stray": (b'{"jsonrpc":"2.0","id":%d,"result":{}}', None),
}
"""Kind of an entry to its form and the code of its answer: 0 for a result, None for no answer."""


@pytest.mark.parametrize("backend", list(BACKENDS))
@hypothesis.given(st.lists(st.sampled_from(list(ENTRIES)), min_size=1, max_size=12))
@hypothesis.settings(max_examples=30)
def test_any_mixture_of_entries_has_exactly_its_answers(backend: str, kinds: list[str]) -> None:
    """C02."""

    async def talk() -> None:
        async with wired("agent", Echo()) as (_, peer):
            entries = [ENTRIES[kind][0] % number for number, kind in enumerate(kinds)]
            await peer.send_bytes(b"[", b",".join(entries), b"]\n")
            await peer.request("end", "_x/echo", {})
            expected = [code for code in (ENTRIES[kind][1] for kind in kinds) if code is not None]
            received = [await peer.receive() for _ in range(2 if expected else 1)]
            answers = [message for message in received if isinstance(message, list)]
            assert {"jsonrpc": "2.0", "id": "end", "result": {}} in received
            codes = [a.get("error", {"code": 0})["code"] for part in answers for a in part]
            assert sorted(codes) == sorted(expected)

    name, options = BACKENDS[backend]
    anyio.run(talk, backend=name, backend_options=options)


async def test_a_client_answers_of_an_array_what_are_requests_and_ignores_the_rest() -> None:
    """C02, C01."""
    async with wired("client", Echo()) as (_, peer):
        await peer.send_bytes(b"[", b",".join([ECHO, b"17", b"null", NOBODY, b"[]"]), b"]\n")
        answers = by_id(await peer.receive())
        assert set(answers) == {1, "b"}


@each_side
async def test_an_array_above_the_limit_is_one_refusal(side: str) -> None:
    """C02, C13."""
    limits = acp.Limits(max_batch_entries=3)
    async with wired(side, Echo(), limits=limits) as (_, peer):
        for count, refused in ((3, False), (4, True), (500, True)):
            entries = [
                json.dumps({"id": n, "method": "_x/echo", "params": {}}) for n in range(count)
            ]
            await peer.send_text(f"[{','.join(entries)}]\n")
            if refused and side == "client":
                continue
            answer = await peer.receive()
            if refused:
                assert (answer["id"], answer["error"]["code"]) == (None, -32600)
            else:
                assert set(by_id(answer)) == {0, 1, 2}
        assert (await peer.exchange(2))["id"] == 2
