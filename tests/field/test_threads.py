"""A call from a thread that is not the loop's."""

from __future__ import annotations

import threading

import anyio
import pytest

from tests.field.wires import Echo, each_side, wired


@pytest.mark.asyncio_only
@each_side
async def test_a_call_from_another_thread_is_sent_at_once_or_refused(side: str) -> None:
    """C39: what must not be is that it lies until something else wakes the loop."""
    refused = False

    def send() -> None:
        nonlocal refused
        sending = connection.ext_notification("n", {"from": "thread"})
        try:
            sending.send(None)
        except StopIteration:
            return
        except RuntimeError:
            refused = True
        finally:
            sending.close()

    async with wired(side, Echo(), wire="pipes") as (connection, peer):
        received = anyio.Event()

        async def read() -> None:
            await anyio.wait_readable(peer.transport._read_fd)
            received.set()

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            thread = threading.Timer(0.2, send)
            thread.start()
            with anyio.move_on_after(2):
                await received.wait()
            thread.join()
            group.cancel_scope.cancel()
        assert refused or received.is_set()
