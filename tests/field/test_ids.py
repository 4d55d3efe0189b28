"""Ids that come back as they were, and envelopes without or with another `jsonrpc`."""

from __future__ import annotations

import json
from typing import Any

import anyio
import hypothesis
import hypothesis.strategies as st
import pytest

from tests.conftest import BACKENDS
from tests.field.wires import Echo, answer_of, each_cut, each_side, wired
from tests.raw_peer import within
from tests.sides import turns

IDS = [
    '"1"',
    "1",
    "0",
    "-5",
    "9007199254740993123",
    "9223372036854775807",
    "-9223372036854775808",
    '""',
    '"\\u00e9"',
    '"é"',
    '"\\n\\"\\\\"',
    '"null"',
    '"' + "x" * 5000 + '"',
    "null",
]
NO_IDS = ["1.5", "1.0", "1e2", "true", "[1]", '{"a":1}', "9223372036854775808", "-1e400"]


@each_side
@each_cut
@pytest.mark.parametrize("written", IDS)
async def test_an_id_comes_back_with_its_value_and_type(
    side: str, cut: int | None, written: str
) -> None:
    """C34."""
    async with wired(side, Echo(), cut=cut) as (_, peer):
        for method in ("_x/e", "nobody/serves"):
            line = f'{{"jsonrpc":"2.0","id":{written},"method":"{method}"}}\n'
            await peer.send_bytes(line.encode())
            answer = await peer.receive()
            assert ("result" in answer) is method.startswith("_")
            sent = json.loads(written)
            assert (answer["id"], type(answer["id"])) == (sent, type(sent))


@pytest.mark.parametrize("backend", list(BACKENDS))
@hypothesis.given(
    st.lists(
        st.one_of(
            st.integers(-(2**63), 2**63 - 1), st.text(), st.none(), st.integers(0, 3).map(str)
        ),
        min_size=1,
        max_size=8,
    )
)
@hypothesis.settings(max_examples=25)
def test_ids_that_look_alike_are_not_mixed_up(backend: str, ids: list[Any]) -> None:
    """C34: "1" and 1 may be under way at the same time, and an id twice."""

    async def talk() -> None:
        async with wired("agent", Echo()) as (_, peer):
            requests = [
                {"id": request_id, "method": "_x/echo", "params": {"n": number}}
                for number, request_id in enumerate(ids)
            ]
            await peer.send(*requests)
            answers = [await peer.receive() for _ in ids]
            numbers = {answer["result"]["n"]: answer["id"] for answer in answers}
            assert [numbers[number] for number in range(len(ids))] == ids
            for number, request_id in enumerate(ids):
                assert type(numbers[number]) is type(request_id)

    name, options = BACKENDS[backend]
    anyio.run(talk, backend=name, backend_options=options)


@each_side
@pytest.mark.parametrize("written", NO_IDS)
async def test_what_is_no_id_is_refused_and_the_next_request_is_served(
    side: str, written: str
) -> None:
    """C34: by the serving side with a null id; the client says nothing."""
    echo = Echo()
    async with wired(side, echo) as (_, peer):
        await peer.send_bytes(f'{{"jsonrpc":"2.0","id":{written},"method":"_x/e"}}\n'.encode())
        if side == "agent":
            answer = await peer.receive()
            assert answer["id"] is None
            assert answer["error"]["code"] in (-32600, -32700)
        assert (await peer.exchange(1))["id"] == 1
    assert len(echo.requests) == 1


@each_side
@pytest.mark.parametrize("written", ['"0"', "0.0", "null", "-1", "1", '"x"', '{"id":0}', "[0]"])
async def test_an_answer_under_another_id_than_ours_answers_nothing(
    side: str, written: str
) -> None:
    """C34, C05: "0" is not 0."""
    async with wired(side, Echo()) as (connection, peer):
        calling = peer.start(answer_of(connection))
        assert (await peer.receive())["id"] == 0
        await peer.send_bytes(f'{{"jsonrpc":"2.0","id":{written},"result":{{}}}}\n'.encode())
        assert (await peer.exchange(5))["id"] == 5
        await turns()
        assert not calling.done()
        await peer.answer(0, {"right": True})
        assert await within(calling) == {"right": True}


GREETING = '"id":7,"method":"initialize","params":{"protocolVersion":1}'
OTHERS = ['"1.0"', "2.0", "2", '"2"', '"2.0 "', "null", '""', '["2.0"]', "true"]


class Greeting(Echo):
    async def initialize(self, protocol_version: int, **kwargs: Any) -> Any:
        return {"protocolVersion": protocol_version}


@each_cut
async def test_a_request_without_jsonrpc_is_served_and_answered_with_it(cut: int | None) -> None:
    """C35."""
    async with wired("agent", Greeting(), cut=cut) as (_, peer):
        await peer.send_bytes(f"{{{GREETING}}}\n".encode())
        answer = await peer.receive()
        assert answer == {"jsonrpc": "2.0", "id": 7, "result": {"protocolVersion": 1}} | answer
        assert answer["jsonrpc"] == "2.0"


@each_side
async def test_answers_and_notifications_without_jsonrpc_count(side: str) -> None:
    """C35."""
    echo = Echo()
    async with wired(side, echo) as (connection, peer):
        calling = peer.start(answer_of(connection))
        request = await peer.receive()
        assert request["jsonrpc"] == "2.0"
        await peer.send_bytes(b'{"method":"_n/x"}\n{"id":0,"result":{"a":1}}\n')
        assert await within(calling) == {"a": 1}
    assert echo.notes == [("n/x", {})]


@each_side
@pytest.mark.parametrize("other", OTHERS)
async def test_a_message_of_another_version_of_json_rpc_is_not_served(
    side: str, other: str
) -> None:
    """C35: nor does it answer; it costs nothing else."""
    echo = Greeting()
    async with wired(side, echo) as (_, peer):
        for message in (GREETING, '"id":8,"method":"_x/e"', '"method":"_n/x"'):
            await peer.send_bytes(f'{{"jsonrpc":{other},{message}}}\n'.encode())
            if side == "agent":
                answer = await peer.receive()
                assert (answer["id"], answer["error"]["code"]) == (None, -32600)
        assert (await peer.exchange(9))["id"] == 9
    assert (len(echo.requests), echo.notes) == (1, [])
