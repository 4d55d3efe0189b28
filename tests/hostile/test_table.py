"""The table of hostile input, against every kind of endpoint and through the router.

What the rows and the places are is in `reliability`, where the same is measured.
"""

from __future__ import annotations

from functools import partial

import pytest

from reliability.hostile import QUICK, near, over, table
from reliability.places import PLACES, Place
from tests.raw_peer import PAIRS


@pytest.mark.parametrize("link", PAIRS)
@pytest.mark.parametrize("place", PLACES, ids=str)
async def test_each_row_has_exactly_its_answer_and_the_next_request_is_served_at_once(
    place: Place, link: str
) -> None:
    """Over memory each on a connection of its own, over pipes all on one; before the handshake,
    which has to be possible afterwards, and behind it.
    """
    rows = table(place)
    # A router chooses once.
    alone = link == "memory" or place.chooses
    groups = [[row] for row in rows] if alone else [rows]
    right, harmed, longest = await over(partial(near, pair=PAIRS[link]), place, groups)
    assert (right, harmed) == (len(rows), 0)
    assert longest < QUICK
