"""The event loops that every asynchronous test runs on, and settings that hold for all tests.

Owns the matrix of backends. A coroutine test needs no marker and runs on each backend; one that is
about asyncio's own names says `@pytest.mark.asyncio_only` and runs on the asyncio ones.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
from typing import Any

import hypothesis
import pytest

Backend = tuple[str, dict[str, Any]]

hypothesis.settings.register_profile("acp", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("acp")


def eager_loop() -> asyncio.AbstractEventLoop:
    """An event loop whose tasks take their first step inside `create_task`."""
    loop = asyncio.new_event_loop()
    # The name exists from Python 3.12 on; the backend is listed there only.
    loop.set_task_factory(getattr(asyncio, "eager_task_factory"))  # noqa: B009
    return loop


def backends() -> dict[str, Backend]:
    """Name to what anyio's runner takes, for every backend that this interpreter has."""
    found: dict[str, Backend] = {"asyncio": ("asyncio", {"use_uvloop": False})}
    if importlib.util.find_spec("uvloop"):
        found["uvloop"] = ("asyncio", {"use_uvloop": True})
    if sys.version_info >= (3, 12):
        found["eager"] = ("asyncio", {"loop_factory": eager_loop})
    found["trio"] = ("trio", {})
    return found


BACKENDS = backends()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "asyncio_only: about asyncio's own names")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the runs on trio of tests that are about asyncio's names."""
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        backend = getattr(item, "callspec", None) and item.callspec.params.get("anyio_backend")
        asyncio_only = item.get_closest_marker("asyncio_only") is not None
        (left_out if asyncio_only and backend == "trio" else kept).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


@pytest.fixture(params=list(BACKENDS))
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    """The backend of this run of the test."""
    return BACKENDS[request.param]
