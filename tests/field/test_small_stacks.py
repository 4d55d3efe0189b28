"""Connections on threads with small stacks: long chains, deep values, many nested ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

STACK = 512 * 1024
"""What some hosts give the threads of their workers. Dumping the deepest values that are allowed
takes a little more, see `tests/objects/test_limits.py`.
"""

ON_A_SMALL_STACK = """
import contextlib, copy, json, sys, threading
import anyio
import acp
from acp import v1, v2

def nested(levels, inner="1"):
    return '{"a":[' * (levels // 2) + inner + "]}" * (levels // 2)

async def ask(transport, *lines):
    for line in lines:
        await transport.send(line.encode() + b"\\n")
    rest, answers = b"", []
    while len(answers) < len(lines):
        rest += await transport.receive()
        *found, rest = rest.split(b"\\n")
        answers += found
    return answers

def run(main):
    failures = []
    def target():
        try:
            with_bound(main)
        except BaseException as exc:
            failures.append(exc)
    def with_bound(main):
        async def bounded():
            with anyio.fail_after(30):
                await main()
        anyio.run(bounded, backend=sys.argv[1])
    threading.stack_size(STACK)
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    print("done")
"""

CHAIN = """
async def main():
    for module in (v1, v2):
        agent = module.Agent("a", "1", **({"version_guard": False} if module is v1 else {}))
        for number in range(400):
            inner = module.Agent()
            @inner.on_request(f"_x/{number}")
            async def handle(params):
                return params
            @inner.on_request("_x/last")
            async def decline(params):
                return acp.UNHANDLED
            agent.include(inner)
        if module is v1:
            here, there = acp.memory_pair()
            async with agent.connect(there):
                await here.open()
                line = '{"jsonrpc":"2.0","id":%d,"method":"_x/%s","params":{"n":1}}'
                one, last = await ask(here, line % (1, "399"), line % (2, "last"))
                answers = {json.loads(each)["id"]: json.loads(each) for each in (one, last)}
                assert answers[1]["result"] == {"n": 1}, answers
                assert answers[2]["error"]["code"] == -32601, answers
                await here.close()
run(main)
"""

DEEP = """
async def main():
    for levels in (4, 400, 1018):
        here, there = acp.memory_pair()
        agent = v1.Agent(version_guard=False)
        @agent.on_request("_x/e")
        async def echo(params):
            return params
        @agent.prompt
        async def prompt(request):
            assert request.field_meta
            if levels < 800:
                request.model_dump()
            for act in (repr, copy.deepcopy, lambda each: each == copy.deepcopy(each)):
                # Python itself has a limit for its own values.
                with contextlib.suppress(RecursionError):
                    act(request)
            return v1.schema.PromptResponse(stop_reason="end_turn", field_meta=request.field_meta)
        async with agent.connect(there):
            await here.open()
            value = nested(levels)
            first, second = await ask(
                here,
                '{"jsonrpc":"2.0","id":1,"method":"_x/e","params":%s}' % value,
                '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":'
                '{"sessionId":"s","prompt":[],"_meta":%s}}' % nested(levels - 2),
            )
            answers = sorted((first, second), key=lambda each: b'"id":1' not in each)
            assert value.encode() in answers[0], answers[0][:200]
            assert nested(levels - 2).encode() in answers[1], answers[1][:200]
            await here.close()
    # Beyond the limit it is an answer, and no deeper call.
    for levels in (1100, 20_000, 2_000_000):
        here, there = acp.memory_pair()
        agent = v1.Agent(version_guard=False)
        async with agent.connect(there):
            await here.open()
            line = '{"jsonrpc":"2.0","id":1,"method":"_x/e","params":%s}' % nested(levels)
            (answer,) = await ask(here, line)
            assert json.loads(answer)["error"]["code"] == -32600, answer[:200]
            await here.close()
run(main)
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize(
    "program", [pytest.param(CHAIN, id="long chains"), pytest.param(DEEP, id="deep values")]
)
def test_a_connection_fits_in_half_a_mebibyte_of_stack(program: str, backend: str) -> None:
    """C40: no host can catch a stack that has overflowed."""
    done = subprocess.run(
        [sys.executable, "-c", f"STACK = {STACK}" + ON_A_SMALL_STACK + program, backend],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-2000:]
