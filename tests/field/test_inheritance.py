"""What a process of ours has besides its three standard streams: nothing."""

from __future__ import annotations

import pytest

import acp
from acp.client.connection import ClientSideConnection
from tests.field.children import python
from tests.raw_peer import serving, within
from tests.sides import Silent


async def test_an_agent_that_closes_its_output_and_lives_on_fails_its_calls() -> None:
    """C06: there is no exit code to tell."""
    program = "next(requests())\nos.close(1)\ntime.sleep(600)"
    transport = python(program, shutdown_timeout=0.1)
    async with serving(ClientSideConnection, Silent(), transport) as (agent, _):
        with pytest.raises(acp.ConnectionClosed) as caught:
            await within(agent.initialize(1))
        assert caught.value.exit_code is None


async def test_a_process_inherits_its_standard_streams_and_nothing_else() -> None:
    """C11, C29: a copy of a pipe in the agent keeps the pipe open in what the agent starts."""
    output = b""
    async with acp.process_transport("/bin/ls", "/proc/self/fd") as transport:
        while part := await within(transport.receive()):
            output += part
    # The fourth is the directory that is listed.
    assert output.split() == [b"0", b"1", b"2", b"3"]
