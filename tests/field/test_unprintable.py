"""An exception whose text cannot be made."""

from __future__ import annotations

from tests.field.test_handlers import RAISED, Failing, each_time
from tests.field.wires import each_side, wired


@each_side
@each_time
async def test_an_exception_that_cannot_be_printed_is_answered_once(side: str, late: bool) -> None:
    """C32: also where its text is to be shown."""
    handlers = Failing(RAISED["what cannot be printed"], late=late, raises=True)
    async with wired(side, handlers, expose_internal_errors=True) as (_, peer):
        answer = await peer.exchange(1, "_fail")
        assert (answer["id"], answer["error"]["code"]) == (1, -32603)
        assert (await peer.exchange(2))["id"] == 2
