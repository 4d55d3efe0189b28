"""An agent without any SDK; it sends what is encoded already, so that a client is measured.

A prompt whose text is a number gets so many updates, eight chunks and two tool updates in turn.
`raw_agent.py 2` speaks protocol version 2.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches import wire

TEN = {
    "1": wire.FRAMES["chunk"] * 8 + wire.FRAMES["tool_update"] * 2,
    "2": wire.frame(wire.CHUNK_V2) * 8 + wire.frame(wire.TOOL_UPDATE_V2) * 2,
}
TENS_PER_WRITE = 32


# Of a request's answer only the id changes, so that it is not encoded anew.
SESSION = b'{"sessionId":"%s"}' % wire.SESSION.encode()
ANSWERS = {
    "1": {
        "initialize": b'{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}',
        "session/new": SESSION,
        "session/prompt": b'{"stopReason":"end_turn"}',
    },
    "2": {
        "initialize": (
            b'{"protocolVersion":2,"info":{"name":"raw","version":"1"},'
            b'"capabilities":{"session":{}}}'
        ),
        "session/new": SESSION,
        "session/prompt": b'{"messageId":"user-1"}',
    },
}


def main(version: str) -> None:
    ten, answers = TEN[version], ANSWERS[version]
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method = message.get("method")
        if method is None or "id" not in message:
            continue
        if method == "session/prompt":
            left = int(message["params"]["prompt"][0]["text"]) // 10
            while left:
                now = min(left, TENS_PER_WRITE)
                out.write(ten * now)
                left -= now
        number = json.dumps(message["id"]).encode()
        out.write(b'{"jsonrpc":"2.0","id":%s,"result":%s}\n' % (number, answers[method]))
        out.flush()


if __name__ == "__main__":
    main((*sys.argv[1:], "1")[0])
