"""What tests of callbacks tell: what has happened in which order, and what is still to end.

Owns a record that handlers and callbacks write, and gates that they wait at. It knows no rule of
the library.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio

from acp import v1
from tests.endpoint_peer import client
from tests.sides import turns, until

if TYPE_CHECKING:
    from collections.abc import Callable

    import acp
    from tests.raw_peer import RawPeer

END = {"stopReason": "end_turn"}


class Story:
    """What has happened, in its order. Whatever has a gate waits in the middle of it."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.gates: dict[str, anyio.Event] = {}

    def gate(self, *names: str) -> None:
        for name in names:
            self.gates[name] = anyio.Event()

    def open(self, name: str) -> None:
        self.gates[name].set()

    async def tell(self, name: str) -> None:
        if name not in self.gates:
            self.seen.append(name)
            return
        self.seen.append(f"{name} begins")
        await self.gates[name].wait()
        self.seen.append(f"{name} ends")

    def callback(self, name: str) -> Callable[[acp.Outcome[Any]], Any]:
        async def called(ended: acp.Outcome[Any]) -> None:
            del ended
            await self.tell(name)

        return called

    def client(self, **options: Any) -> v1.Client:
        """A client whose updates tell their texts."""
        endpoint = client(**options)

        @endpoint.session_update
        async def _(message: v1.schema.SessionNotification) -> None:
            update: Any = message.update
            await self.tell(update.content.text)

        @endpoint.on_notification("_note")
        async def _(message: Any) -> None:
            await self.tell(message["text"])

        return endpoint

    async def is_still(self, *seen: str) -> None:
        """It comes to this, and no further."""
        await until(lambda: len(self.seen) >= len(seen))
        await turns()
        assert self.seen == list(seen)

    async def comes_to(self, *seen: str) -> None:
        await until(lambda: len(self.seen) >= len(seen))
        assert self.seen == list(seen)


def answer(request: dict[str, Any], result: Any = END) -> dict[str, Any]:
    return {"id": request["id"], "result": result}


def note(text: str) -> dict[str, Any]:
    return {"method": "_note", "params": {"text": text}}


async def send_batch(peer: RawPeer, *entries: dict[str, Any]) -> None:
    await peer.send_text(json.dumps([{"jsonrpc": "2.0", **entry} for entry in entries]) + "\n")
