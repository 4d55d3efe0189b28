"""What a peer writes between its messages: banners, scalars, blanks, bytes of other encodings."""

from __future__ import annotations

import json
import logging
from typing import Any

import anyio
import hypothesis
import hypothesis.strategies as st
import pytest

import acp
from acp import PROTOCOL_VERSION
from tests.conftest import BACKENDS
from tests.field.wires import Echo, answer_of, each_cut, each_side, each_wire, wired
from tests.raw_peer import within
from tests.sides import Silent

TEXT = [
    b"Loaded credentials.",
    b"\x1b]0;title\x07",
    b"[tool] thinking...",
    b"{not json",
    b"{'jsonrpc': '2.0'}",
    b"[",
    b"}",
    b"NaN",
    b"nul",
    b"\xff\xfe",
    b'"\xed\xa0\x80"',
    b"\x00",
]
"""Lines that are no JSON."""
SCALARS = [b'"starting"', b"42", b"null", b"true", b"-1.5e3", b'""', b"0", b'"{}"']
"""Lines that are JSON and no message."""
OBJECTS = [b"{}", b'{"level":"info","msg":"up"}', b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":7}']
"""Objects that are no message, or an answer that nobody waits for."""
ASK_NOTHING = OBJECTS[:3]
"""Those of them that are not answered: without method and id."""


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


@each_wire
@each_cut
async def test_a_client_gets_its_greeting_behind_any_noise_and_says_nothing_to_it(
    wire: str, cut: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    """C01."""
    noise = b"".join(line + b"\n" for line in TEXT + SCALARS + OBJECTS)
    async with wired("client", Silent(), wire=wire, cut=cut) as (agent, peer):
        greeting = peer.start(agent.initialize(PROTOCOL_VERSION))
        request = await peer.receive()
        answer = b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}\n'
        await peer.send_bytes(noise, answer, noise)
        assert (await within(greeting)).protocol_version == 1
        session = peer.start(agent.new_session("/"))
        # Nothing between the two requests: no line of noise was answered.
        assert [request["method"], (await peer.receive())["method"]] == [
            "initialize",
            "session/new",
        ]
        await peer.send_bytes(noise, b'{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}\n')
        assert (await within(session)).session_id == "s"
    assert len(warnings_in(caplog)) == 1


@pytest.mark.parametrize("line", TEXT + SCALARS)
async def test_one_line_of_noise_costs_nothing_but_itself(line: bytes) -> None:
    """C01."""
    async with wired("client", Silent()) as (agent, peer):
        greeting = peer.start(agent.initialize(PROTOCOL_VERSION))
        await peer.receive()
        await peer.send_bytes(line + b'\n{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}\n')
        await within(greeting)


@pytest.mark.parametrize(
    ("lines", "code"), [(TEXT, -32700), (SCALARS, -32600)], ids=["text", "scalars"]
)
@each_cut
async def test_an_agent_answers_each_line_of_noise_with_a_null_id_and_goes_on(
    lines: list[bytes], code: int, cut: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    """C01: the serving side tells a strict peer what it could not read."""
    async with wired("agent", Echo(), cut=cut) as (_, peer):
        for line in lines:
            await peer.send_bytes(line, b"\n")
            answer = await peer.receive()
            assert (answer["id"], answer["error"]["code"]) == (None, code), line
        assert (await peer.exchange(1))["result"] == {}
    assert len(warnings_in(caplog)) == 1


async def test_what_the_noise_said_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """C01: a credential that a peer prints does not end up in the log of the host."""
    caplog.set_level(logging.DEBUG)
    async with wired("client", Silent()) as (agent, peer):
        calling = peer.start(answer_of(agent))
        await peer.receive()
        await peer.send_bytes(b'api_key=sk-12345\n"sk-12345"\n{"jsonrpc":"sk-12345"}\n')
        await peer.answer(0, {})
        await within(calling)
    assert "sk-12345" not in caplog.text


@each_side
@each_wire
@each_cut
async def test_each_line_of_noise_is_offered_to_the_hook_once_and_counted(
    side: str, wire: str, cut: int | None
) -> None:
    """C01: with its bytes, which the log does not have."""
    told: list[acp.Malformed] = []
    noise = TEXT + SCALARS + OBJECTS
    answered = [line for line in noise if side == "agent" and line not in ASK_NOTHING]
    options: dict[str, Any] = {"on_malformed": told.append, "wire": wire, "cut": cut}
    async with wired(side, Echo(), **options) as (connection, peer):
        await peer.send_bytes(*(line + b"\n \n" for line in noise))
        if side == "agent":
            for _ in answered:
                await peer.receive()
        assert (await peer.exchange(1))["result"] == {}
        counters = connection.stats().counters
    seen = [(each.kind, each.data, each.size, each.answered, each.method) for each in told]
    assert seen == [("frame", line, len(line), line in answered, None) for line in noise]
    reasons = {reason: counters[f"rejected_{reason}"] for reason in ("parse", "utf8", "envelope")}
    assert sum(reasons.values()) == len(noise)
    assert reasons == {reason: [each.reason for each in told].count(reason) for reason in reasons}


@each_side
async def test_each_entry_of_an_array_that_is_no_message_is_offered_to_the_hook(side: str) -> None:
    """C01, C02: and no other."""
    told: list[acp.Malformed] = []
    echo = Echo()
    async with wired(side, echo, on_malformed=told.append) as (_, peer):
        entries = b'[ 17 ,{"method":"_n"}, "x",{"id":1,"method":"_x/echo"} ,{"id":[1]},null]\n'
        await peer.send_bytes(entries)
        answers = await peer.receive()
    assert [each.data for each in told] == [b"17", b'"x"', b'{"id":[1]}', b"null"]
    assert {(each.reason, each.answered) for each in told} == {("envelope", side == "agent")}
    assert len(answers) == (5 if side == "agent" else 1)
    assert [method for method, _ in echo.notes] == ["n"]


lines_of_noise = st.lists(
    st.one_of(
        st.text(st.characters(exclude_characters="\n", codec="utf-8")).map(str.encode),
        st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"")),
        st.sampled_from(TEXT + SCALARS),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner, max_size=3),
            max_leaves=4,
        ).map(lambda value: json.dumps(value).encode()),
    ),
    max_size=8,
)


@pytest.mark.parametrize("backend", list(BACKENDS))
@hypothesis.given(lines_of_noise, st.integers(1, 60))
@hypothesis.settings(max_examples=25)
def test_calls_of_a_client_are_answered_through_any_noise(
    backend: str, noise: list[bytes], cut: int
) -> None:
    """C01."""

    async def talk() -> None:
        async with wired("client", Echo(), cut=cut) as (agent, peer):
            for number in range(2):
                calling = peer.start(answer_of(agent))
                assert (await peer.receive())["id"] == number
                await peer.send_bytes(*(line + b"\n" for line in noise))
                await peer.answer(number, {"number": number})
                assert await within(calling) == {"number": number}

    name, options = BACKENDS[backend]
    anyio.run(talk, backend=name, backend_options=options)


@each_side
@each_cut
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b" \n", b"\t\r\n", b"\n\n", b"\r\n\r\n"])
async def test_a_line_may_end_as_on_windows_and_blank_ones_are_silent(
    side: str, cut: int | None, ending: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """C31."""
    async with wired(side, Echo(), cut=cut) as (_, peer):
        for number in range(2):
            line = b'{"jsonrpc":"2.0","id":%d,"method":"_x/e"}' % number
            await peer.send_bytes(b"\r\n   \n\t\n", line, ending)
            assert await peer.receive() == {"jsonrpc": "2.0", "id": number, "result": {}}
    assert warnings_in(caplog) == []


BAD_BYTES = [
    b"\xff",
    b"\xc3",
    b"\xe4\xf6\xfc",
    b"\xed\xa0\x80",
    b"\xf8\x88\x80\x80\x80",
    b"\xc0\xaf",
]


@pytest.mark.parametrize("bad", BAD_BYTES)
@each_cut
async def test_a_byte_of_another_encoding_costs_its_own_line_only(
    bad: bytes, cut: int | None
) -> None:
    """C31."""
    line = b'{"jsonrpc":"2.0","id":2,"method":"_x/e","params":{"t":"%s"}}\n' % bad
    async with wired("agent", Echo(), cut=cut) as (_, peer):
        await peer.send_bytes(line)
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        assert (await peer.exchange(3))["id"] == 3
    async with wired("client", Echo(), cut=cut) as (_, peer):
        await peer.send_bytes(line)
        assert (await peer.exchange(3))["id"] == 3


@each_side
async def test_what_is_written_is_utf8_in_lines_that_end_in_a_newline_alone(side: str) -> None:
    """C31: text that holds other line ends stays one line."""
    text = "ä\u2028\x85\r\n\x0b\U0001f600"
    async with wired(side, Echo()) as (connection, peer):
        await peer.request(1, "_x/echo", {"t": text})
        raw = await peer.receive_bytes()
        assert raw.endswith(b"}\n")
        assert (raw.count(b"\n"), raw.count(b"\r")) == (1, 0)
        assert json.loads(raw.decode("utf-8"))["result"] == {"t": text}
        assert "ä\u2028".encode() in raw
        await connection.ext_notification("x", {"t": text})
        assert json.loads((await peer.receive_bytes()).decode())["params"] == {"t": text}


NUMBERS = ["NaN", "Infinity", "-Infinity", "1e999", "-1e400", "nan", "+1", "01", ".5", "1.", "0x1"]


@each_side
@pytest.mark.parametrize("number", NUMBERS)
async def test_a_number_that_json_does_not_have_costs_its_own_line_only(
    side: str, number: str
) -> None:
    """C33."""
    echo = Echo()
    async with wired(side, echo) as (_, peer):
        line = '{"jsonrpc":"2.0","id":3,"method":"_x/e","params":{"v":%s}}\n' % number  # noqa: UP031
        await peer.send_bytes(line.encode())
        if side == "agent":
            answer = await peer.receive()
            assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        assert (await peer.exchange(4))["id"] == 4
    assert [params for _, params in echo.requests] == [{}]


@each_side
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("place", ["member", "item", "deep"])
async def test_no_number_that_json_does_not_have_is_written(
    side: str, value: float, place: str
) -> None:
    """C33: the one call fails, on whichever side it is."""
    values: dict[str, Any] = {
        "member": {"score": value},
        "item": {"scores": [1.0, value]},
        "deep": {"a": [{"b": {"c": [value]}}]},
    }

    class Scoring(Echo):
        async def ext_method(self, method: str, params: Any) -> Any:
            return values[place] if method == "score" else params

    async with wired(side, Scoring()) as (connection, peer):
        answer = await peer.exchange(1, "_score")
        assert (answer["id"], answer["error"]["code"]) == (1, -32603)
        with pytest.raises(ValueError):  # noqa: PT011 - its text is not the point
            await within(connection.ext_method("x", values[place]))
        with pytest.raises(ValueError):  # noqa: PT011
            await within(connection.ext_notification("x", values[place]))
        # Nothing of the refused ones was written.
        assert (await peer.exchange(2))["id"] == 2
