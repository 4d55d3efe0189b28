"""When nothing is traced, and that it costs nothing; and traces over two processes.

Owns programs in processes of their own, since what is imported and which provider there is holds
for a whole process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from opentelemetry import trace

import acp
from acp import telemetry
from acp._caller import Caller
from acp._serving import Serving
from acp.client.connection import ClientSideConnection
from tests.endpoint_peer import agent, client
from tests.raw_peer import client_under_test, within
from tests.sides import Silent
from tests.telemetry.collected import Collected, failure, identity

if TYPE_CHECKING:
    from pathlib import Path

TALK = """
import sys
import anyio
import acp
from acp import v1

async def main(**options):
    served, asking = v1.Agent(**options), v1.Client(**options)
    params = []
    served.on_request("_ask")(lambda given: params.append(given) or {})
    here, there = acp.memory_pair()
    async with served.connect(there), asking.connect(here) as connection:
        await connection.initialize()
        await connection.request("_ask", {"_meta": {}})
    assert params == [{"_meta": {}}], params
"""
BLOCKED = """
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "opentelemetry":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
"""
LOADED = """
assert not [name for name in sys.modules if name.partition(".")[0] == "opentelemetry"]
"""


def run(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_program_that_does_not_use_opentelemetry_never_loads_it() -> None:
    run(
        TALK
        + "anyio.run(main)\nfrom acp.telemetry import span_context\nwith span_context('x'): pass"
        + LOADED
    )


def test_where_it_is_not_installed_everything_but_asking_for_it_works() -> None:
    asked = """
    anyio.run(main)
    try:
        anyio.run(lambda: main(telemetry=True))
    except ModuleNotFoundError as exc:
        print(exc)
    """
    out = run(TALK + BLOCKED + textwrap.dedent(asked) + LOADED)
    assert out == "telemetry=True needs OpenTelemetry: pip install 'acp-native[otel]'\n"


def test_without_a_provider_nothing_is_made_though_it_is_imported() -> None:
    run("import opentelemetry.trace, opentelemetry.propagate\n" + TALK + "anyio.run(main)")


def test_a_provider_that_cannot_be_loaded_breaks_no_connection() -> None:
    program = """
    import os, logging
    logging.getLogger("opentelemetry").disabled = True
    logging.getLogger("opentelemetry.util._providers").disabled = True
    logging.basicConfig(stream=sys.stdout, format="%(message)s")
    os.environ["OTEL_PYTHON_TRACER_PROVIDER"] = "no_such_provider"
    import opentelemetry.trace
    anyio.run(main)
    """
    out = run(TALK + textwrap.dedent(program)).splitlines()
    assert out[0].startswith("OpenTelemetry failed with ")
    assert len(out) == 2  # one for each connection


def test_asked_for_it_passes_a_context_on_though_there_is_no_provider() -> None:
    program = """
    from opentelemetry import trace

    parent = trace.SpanContext(1, 2, is_remote=True, trace_flags=trace.TraceFlags(1))
    with trace.use_span(trace.NonRecordingSpan(parent)):
        try:
            anyio.run(lambda: main(telemetry=True))
        except AssertionError as exc:
            print(exc)
    """
    out = run(TALK + textwrap.dedent(program))
    assert f"00-{1:032x}-{2:016x}-01" in out


@pytest.mark.parametrize("telemetry", [False, None])
async def test_where_it_is_off_there_is_no_code_of_it_on_the_way(telemetry: Any) -> None:
    async with client_under_test(Silent(), telemetry=telemetry) as (connection, _):
        raw = connection._connection
        assert type(raw.caller) is Caller
        assert type(raw.serving) is Serving


async def test_it_can_be_turned_off_for_one_connection(spans: Collected) -> None:
    served, asking = agent(telemetry=False), client(telemetry=False)
    seen: list[Any] = []
    served.on_request("_ask")(lambda params: seen.append(params) or {})
    here, there = acp.memory_pair()
    async with served.connect(there), asking.connect(here) as connection:
        with spans.own.start_as_current_span("own"):
            await within(connection.request("_ask", {"_meta": {}}))
    assert seen == [{"_meta": {}}]
    assert [span.name for span in spans.all()] == ["own"]


def test_a_block_with_a_span_has_it_as_the_current_one(spans: Collected) -> None:
    with telemetry.span_context("outer", attributes={"k": 1}):
        outer = trace.get_current_span().get_span_context().span_id
        with pytest.raises(KeyError), telemetry.span_context("inner"):
            raise KeyError("gone")
    assert spans.parents() == {"internal outer": None, "internal inner": "internal outer"}
    found = spans.one("internal outer")
    assert identity(found) == outer
    assert dict(found.attributes or {}) == {"logfire.tags": ("acp",), "k": 1}
    assert spans.one("internal inner").status.status_code is trace.StatusCode.ERROR


def test_a_block_without_a_provider_is_as_it_would_be_without() -> None:
    with telemetry.span_context("nothing", attributes={"k": 1}):
        assert not trace.get_current_span().get_span_context().is_valid


TRACED_AGENT = """
import asyncio, json, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

import acp

class Agent(acp.Agent):
    def on_connect(self, conn):
        self.client = conn

    async def ext_method(self, method, params):
        with trace.get_tracer("own").start_as_current_span("work"):
            return await self.client.ext_method("back", {"_meta": {}})

asyncio.run(acp.run_agent(Agent()))
with open(sys.argv[1], "w") as file:
    for span in exporter.get_finished_spans():
        name = f"{span.kind.name.lower()} {span.name}"
        context, parent = span.get_span_context(), span.parent
        found = [name, context.trace_id, context.span_id, parent and parent.span_id]
        file.write(json.dumps(found) + "\\n")
"""


@pytest.mark.asyncio_only
async def test_a_trace_goes_through_two_processes_and_back(
    spans: Collected, tmp_path: Path
) -> None:
    class Answering(acp.Client):
        async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
            return {}

    file = tmp_path / "spans"
    with anyio.fail_after(50):
        command = [sys.executable, "-c", TRACED_AGENT, str(file)]
        path = {"PYTHONPATH": os.pathsep.join(sys.path)}
        async with acp.spawn_agent_process(Answering(), *command, env=path) as (connection, _):
            await connection.ext_method("ask", {"_meta": {}})
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    theirs = {name: (trace_id, span, parent) for name, trace_id, span, parent in rows}
    asked, answered = spans.one("client _ask"), spans.one("server _back")
    trace_id = asked.get_span_context().trace_id
    assert theirs.keys() == {"server _ask", "internal work", "client _back"}
    assert {found[0] for found in theirs.values()} == {trace_id}
    assert theirs["server _ask"][2] == identity(asked)
    assert theirs["internal work"][2] == theirs["server _ask"][1]
    assert theirs["client _back"][2] == theirs["internal work"][1]
    assert answered.parent is not None
    assert answered.parent.span_id == theirs["client _back"][1]
    assert {failure(span) for span in (asked, answered)} == {(None, None)}


@pytest.mark.asyncio_only
async def test_a_provider_that_comes_later_counts_for_later_connections(
    monkeypatch: pytest.MonkeyPatch, spans: Collected
) -> None:
    here, _ = acp.memory_pair()
    with monkeypatch.context() as patched:
        patched.setattr(trace, "_TRACER_PROVIDER", None)
        before = ClientSideConnection(Silent(), here, listening=False)
    later, _ = acp.memory_pair()
    after = ClientSideConnection(Silent(), later, listening=False)
    assert type(before._connection.caller) is Caller
    assert type(after._connection.caller) is not Caller
    await before.close()
    await after.close()
