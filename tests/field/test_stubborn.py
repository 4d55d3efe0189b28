"""Closing with a handler that never ends, whatever is done to it."""

from __future__ import annotations

import anyio
import pytest

from tests.field.test_closing import SHORT, Stubborn
from tests.field.wires import each_side, wired
from tests.raw_peer import within


@each_side
@pytest.mark.parametrize("kind", ["request", "notification"])
async def test_closing_returns_in_time_and_warns_of_a_handler_that_never_ends(
    side: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C16."""
    handlers = Stubborn(1 << 30)
    async with wired(side, handlers, limits=SHORT) as (connection, peer):
        await (peer.request(1, "_stay") if kind == "request" else peer.notify("_stay"))
        await within(handlers.running.wait())
        with anyio.move_on_after(2) as scope:
            await connection.close()
        warned = [record.getMessage() for record in caplog.records]
        handlers.let_go.set()
    assert not scope.cancelled_caught
    assert warned
