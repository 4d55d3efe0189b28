"""The flag that tasks wait for."""

from __future__ import annotations

import anyio

from acp._runtime import Runtime
from acp._runtime.flag import Flag
from tests.raw_peer import within
from tests.sides import turns


async def test_setting_a_flag_wakes_all_that_wait() -> None:
    flag = Flag(Runtime())
    woken: list[int] = []

    async def wait(number: int) -> None:
        await within(flag.wait())
        woken.append(number)

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(wait, number)
        await turns()
        assert (woken, flag.is_set()) == ([], False)
        flag.set()
        flag.set()
    assert (sorted(woken), flag.is_set()) == ([0, 1, 2], True)
    await within(flag.wait())


async def test_a_cancelled_wait_leaves_nothing_and_takes_no_other_along() -> None:
    flag = Flag(Runtime())
    async with anyio.create_task_group() as group:
        group.start_soon(within, flag.wait())
        async with anyio.create_task_group() as others:
            others.start_soon(flag.wait)
            others.start_soon(flag.wait)
            await turns()
            others.cancel_scope.cancel()
        assert len(flag._waiters or ()) == 1
        # Cancelled in the turn in which it is set.
        with anyio.CancelScope() as scope:
            scope.cancel()
            flag.set()
            await flag.wait()
        assert scope.cancelled_caught
