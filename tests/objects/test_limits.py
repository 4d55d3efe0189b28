"""What large and deep values cost: memory and stack, measured in a process of their own."""

from __future__ import annotations

import subprocess
import sys


def test_the_deepest_values_need_less_than_a_mebibyte_of_stack() -> None:
    """Threads with small stacks: what is allowed by the limit on nesting has to fit."""
    code = """
import threading
import acp.v1.schema as v1
from acp._core import decode, encode

def run():
    value = decode(1, "ExtRequest", '{"a":[' * 511 + "1" + "]}" * 511)
    assert encode(decode(1, "ExtRequest", encode(value))) == encode(value)
    block = v1.TextContentBlock(text="t", field_meta=value)
    text = encode(block)
    again = decode(1, "ContentBlock", text)
    assert encode(again) == text
    again.model_dump()
    again.model_dump(mode="json")
    again.model_dump_json()
    v1.TextContentBlock.model_validate(block.model_dump())
    v1.TextContentBlock.model_validate_json(text)
    print("done")

threading.stack_size(1 << 20)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_large_texts_leave_no_memory_behind() -> None:
    code = """
import resource
import acp.v1.schema
from acp._core import ValidationError, decode, encode

def act():
    text = '{"type":"text","text":"' + "x\\\\n" * 300_000 + '"%s}'
    encode(decode(1, "ContentBlock", text % ""))
    for bad in ('', ',"text":5', ',"type":"smell"', ',"_meta":{"a":[{},}'):
        try:
            decode(1, "ContentBlock", text % bad)
        except ValidationError:
            pass

for _ in range(10):
    act()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(60):
    act()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True
    )
    # In KiB, on macOS in bytes; one round that is kept would be a MiB or more, sixty of them.
    assert int(done.stdout) < 20_000 * (1024 if sys.platform == "darwin" else 1)
