"""Ids, forged answers and cancellations on version 2, with responders, callbacks, dropped handles.

The conversations are those of `reliability`, where they are measured with many more requests.
"""

from __future__ import annotations

import random

import pytest

from reliability import ids, storms

each_layer = pytest.mark.parametrize("layer", ids.LAYERS)


@pytest.mark.usefixtures("link")
@each_layer
async def test_requests_with_one_id_have_each_its_own_answer(layer: str) -> None:
    found = await ids.reusing(layer, 60)
    assert found == {"cycles": 60, "answers that are wrong": 0, "requests left": 0}


@pytest.mark.usefixtures("link")
@each_layer
async def test_forged_answers_settle_nothing(layer: str) -> None:
    found = await ids.forging(layer, 3000, random.Random(3), pending=100)
    assert found == {"forged answers": 4000, "calls resolved": 0, "calls with a wrong end": 0}


@pytest.mark.parametrize("seed", range(3))
async def test_a_cancelled_request_of_ours_has_one_outcome(seed: int) -> None:
    ends, left, _ = await storms.calls("v2", 400, seed)
    assert (ends.total(), ends["wrong"], left) == (400, 0, 0)
    assert min(ends["answered"], ends["cancelled"], ends["lost"]) > 10


@pytest.mark.usefixtures("link")
@pytest.mark.parametrize("seed", range(3))
async def test_a_request_that_the_peer_cancels_has_one_answer(seed: int) -> None:
    assert await storms.requests("v2", 400, seed) == (0, 0)
