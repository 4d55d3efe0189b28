"""What the tests of this folder have in common: the spans that were made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.telemetry.collected import Collected, collected

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collected]:
    """The program has a provider of OpenTelemetry; these are its spans."""
    with collected(monkeypatch) as found:
        yield found
