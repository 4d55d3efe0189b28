"""An agent without any SDK; it sends what is encoded already, so that a client is measured.

A prompt whose text is a number gets so many updates, eight chunks and two tool updates in turn.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches import wire

TEN = wire.FRAMES["chunk"] * 8 + wire.FRAMES["tool_update"] * 2
TENS_PER_WRITE = 32


# Of a request's answer only the id changes, so that it is not encoded anew.
ANSWERS = {
    "initialize": b'{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}',
    "session/new": b'{"sessionId":"%s"}' % wire.SESSION.encode(),
    "session/prompt": b'{"stopReason":"end_turn"}',
}


def main() -> None:
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
                out.write(TEN * now)
                left -= now
        number = json.dumps(message["id"]).encode()
        out.write(b'{"jsonrpc":"2.0","id":%s,"result":%s}\n' % (number, ANSWERS[method]))
        out.flush()


if __name__ == "__main__":
    main()
