"""The matrix of event loops is what its names say."""

from __future__ import annotations

import asyncio
import sys

import pytest
import sniffio

from tests.conftest import BACKENDS


async def test_a_coroutine_test_runs_on_the_backend_that_its_parameter_names(
    request: pytest.FixtureRequest,
) -> None:
    name = request.node.callspec.params["anyio_backend"]
    assert sniffio.current_async_library() == ("trio" if name == "trio" else "asyncio")
    if name != "trio":
        loop = asyncio.get_running_loop()
        assert type(loop).__module__.startswith("uvloop") is (name == "uvloop")
        assert (loop.get_task_factory() is not None) is (name == "eager")


@pytest.mark.asyncio_only
async def test_a_test_about_names_of_asyncio_never_runs_on_trio() -> None:
    assert sniffio.current_async_library() == "asyncio"


def test_every_backend_that_the_interpreter_can_have_is_there() -> None:
    expected = {"asyncio", "uvloop", "trio"} | ({"eager"} if sys.version_info >= (3, 12) else set())
    assert set(BACKENDS) == expected
