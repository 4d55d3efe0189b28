"""Tests of endpoints run over a pair in memory and over pipes where they ask for `link`."""

from __future__ import annotations

import os

import pytest

from tests import raw_peer


@pytest.fixture(params=["memory", "pipe"] if os.name == "posix" else ["memory"])
def link(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is between the endpoint under test and its peer."""
    monkeypatch.setattr(raw_peer, "pair", raw_peer.PAIRS[request.param])
    return request.param
