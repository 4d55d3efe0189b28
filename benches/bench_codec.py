"""Decoding, encoding and building of one update, for every library that the environment has.

Correctness comes first: each case asserts what the operation gives before it is timed.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from benches import wire
from benches.sides import Side, available
from benches.sides.reading import BUILT, EXPECTED

SIDES = available()

STREAM = 100
"""Frames in one read of a busy pipe."""


@pytest.fixture(params=SIDES, ids=[side.NAME for side in SIDES])
def side(request: pytest.FixtureRequest) -> Side:
    return request.param


@pytest.mark.parametrize("kind", list(wire.KINDS))
def test_decode(benchmark: Any, side: Side, kind: str) -> None:
    frame = wire.FRAMES[kind]
    assert side.facts(side.decode(frame)) == EXPECTED[kind]
    benchmark.group = f"decode {kind} alone"
    benchmark.extra_info.update(work=f"decode {kind} alone", side=side.NAME)
    assert side.facts(benchmark(side.decode, frame)) == EXPECTED[kind]


@pytest.mark.parametrize("kind", list(wire.KINDS))
def test_decode_stream(benchmark: Any, side: Side, kind: str) -> None:
    stream = wire.FRAMES[kind] * STREAM
    benchmark.group = f"decode {kind}"
    benchmark.extra_info.update(work=f"decode {kind}", side=side.NAME, operations=STREAM)
    updates = benchmark(side.decode_stream, stream)
    assert [side.facts(update) for update in updates] == [EXPECTED[kind]] * STREAM


@pytest.mark.parametrize("kind", list(wire.KINDS))
def test_encode(benchmark: Any, side: Side, kind: str) -> None:
    encode = side.encoder(kind)
    assert json.loads(encode()) == wire.KINDS[kind]
    assert encode().count(b"\n") == 1
    benchmark.group = f"encode {kind}"
    benchmark.extra_info.update(work=f"encode {kind}", side=side.NAME)
    assert json.loads(benchmark(encode)) == wire.KINDS[kind]


def test_build(benchmark: Any, side: Side) -> None:
    assert side.facts(side.build()) == BUILT
    benchmark.group = "build chunk"
    benchmark.extra_info.update(work="build chunk", side=side.NAME)
    assert side.facts(benchmark(side.build)) == BUILT
