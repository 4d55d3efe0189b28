"""The longest message that an agent reads from its standard input, by what its program says."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, acp

class Answering(acp.Agent):
    async def ext_method(self, method, params):
        return {}

asyncio.run(acp.run_agent(Answering(), OPTIONS))
"""
SAYS = {
    "nothing": ("", 64 * 1024 * 1024),
    "a buffer that is larger": ("stdio_buffer_limit_bytes=100_000", 100_000),
    "a buffer that is smaller": ("stdio_buffer_limit_bytes=100", None),
    "limits": ("limits=acp.Limits(max_message_bytes=300)", 300),
    "both": (
        "limits=acp.Limits(max_message_bytes=300), stdio_buffer_limit_bytes=100_000",
        300,
    ),
}


def request(request_id: int, size: int) -> str:
    """A request of exactly `size` bytes."""
    head = f'{{"jsonrpc":"2.0","id":{request_id},"method":"_m","params":{{"x":"'
    return head + "a" * (size - len(head) - 3) + '"}}'


@pytest.mark.parametrize("says", list(SAYS))
def test_a_message_is_as_long_as_limits_environment_and_buffer_allow(says: str) -> None:
    options, longest = SAYS[says]
    environment = dict(os.environ)
    if says != "nothing":
        environment["ACP_LIMIT_MAX_MESSAGE_BYTES"] = "1000"
    # A buffer alone never makes it shorter.
    longest = 1000 if longest is None else longest
    asked = [request(1, min(longest, 200_000))]
    if says != "nothing":
        asked.append(request(2, longest + 1))
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("OPTIONS", options)],
        input="\n".join(asked) + "\n",
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    answers = {each["id"]: each for each in map(json.loads, ended.stdout.splitlines())}
    assert answers[1].get("result") == {}, ended.stderr
    assert [answers[number]["error"]["code"] for number in sorted(answers) if number > 1] == [
        -32600
    ] * (len(asked) - 1)
