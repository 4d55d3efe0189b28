"""The two ends that tests of message transports have."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import anyio
import pytest

from tests.message_transports.links import ON_THE_WAY, Ends, Link


@pytest.fixture
def ends() -> Generator[Ends, None, None]:
    """Two ends of a line."""
    there, one = anyio.create_memory_object_stream[Any](ON_THE_WAY)
    back, other = anyio.create_memory_object_stream[Any](ON_THE_WAY)
    with there, one, back, other:
        yield Link(there, other), Link(back, one)
