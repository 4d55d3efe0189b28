"""A client without any SDK, so that an agent is what is measured: it counts the lines it gets.

`raw_client.py UPDATES COMMAND…` prints microseconds for each update that the agent sent, and for
each of some round trips.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import IO, Any

ROUND_TRIPS = 2000
# What the agents of the different SDKs are written to say.
TEXTS = (
    b"The parser takes one line, and then stops.",
    b"I will look at the tests next, then fix it.",
)


def main(updates: int, command: list[str]) -> None:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None

        def ask(number: int, method: str, params: dict[str, Any]) -> tuple[Any, int, int]:
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            send(agent.stdin, message)
            texts = 0
            for lines, line in enumerate(agent.stdout):
                if b'"method"' not in line:
                    return json.loads(line)["result"], lines, texts
                texts += any(text in line for text in TEXTS)
            raise EOFError

        ask(0, "initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        session = ask(1, "session/new", {"cwd": "/tmp", "mcpServers": []})[0]["sessionId"]

        def prompt(number: int, text: str) -> tuple[Any, int, int]:
            params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
            return ask(number, "session/prompt", params)

        prompt(2, str(min(updates, 1000)))
        started = time.perf_counter()
        result, lines, texts = prompt(3, str(updates))
        seconds = time.perf_counter() - started
        assert (result["stopReason"], lines, texts) == ("end_turn", updates, updates)
        started = time.perf_counter()
        for number in range(ROUND_TRIPS):
            prompt(4 + number, "0")
        asked = time.perf_counter() - started
        agent.stdin.close()
        agent.wait(30)
    found = {"update": seconds / max(updates, 1) * 1e6, "round_trip": asked / ROUND_TRIPS * 1e6}
    print(json.dumps(found))


def send(stream: IO[bytes] | None, message: dict[str, Any]) -> None:
    assert stream is not None
    stream.write(json.dumps(message).encode() + b"\n")
    stream.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
