"""Objects and codec used by several threads at once."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import ValidationError, decode, encode

THREADS = 6
ROUNDS = 300
UPDATE = (
    '{"sessionId":"s%d","update":{"sessionUpdate":"agent_message_chunk","content":'
    '{"type":"text","text":"t%d"}}}'
)


@pytest.fixture(autouse=True)
def _frequent_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def run_in_threads(act: Callable[[int], None]) -> None:
    """Runs `act` with each thread's number, all at once, and raises what any of them raised."""
    start = threading.Barrier(THREADS)
    raised: list[BaseException] = []

    def run(number: int) -> None:
        try:
            start.wait(timeout=20)
            act(number)
        except BaseException as error:  # noqa: BLE001  # handed over to the test's own thread
            raised.append(error)

    threads = [
        threading.Thread(target=run, args=(number,), daemon=True) for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=40)
    assert not any(thread.is_alive() for thread in threads)
    if raised:
        raise raised[0]


def test_decoding_and_encoding_in_threads_do_not_disturb_each_other() -> None:
    def act(number: int) -> None:
        for index in range(ROUNDS):
            text = UPDATE % (number, index)
            note = decode(1, "SessionNotification", text)
            assert note.session_id == f"s{number}"
            assert note.update.content.text == f"t{index}"
            assert encode(note).decode() == text
            with pytest.raises(ValidationError) as caught:
                decode(1, "SessionNotification", text.replace(f'"t{index}"', "5"))
            assert [row["type"] for row in caught.value.errors()] == ["string_type"]

    run_in_threads(act)


def test_making_and_copying_in_threads_do_not_disturb_each_other() -> None:
    def act(number: int) -> None:
        for index in range(ROUNDS):
            made = v1.PromptRequest(
                session_id=str(number),
                prompt=({"type": "text", "text": str(item)} for item in range(3)),
                field_meta={"index": index},
            )
            for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
                assert other == made
            assert [block.text for block in made.prompt] == ["0", "1", "2"]
            assert made.model_dump()["field_meta"] == {"index": index}

    run_in_threads(act)


def test_one_object_can_be_read_by_all_while_one_changes_it() -> None:
    shared: Any = v2.OtherContentBlock(type="smell", members=[1, 2, 3])

    def act(number: int) -> None:
        for index in range(ROUNDS):
            if number == 0:
                shared.type = str(index)
                shared.model_extra[f"m{index % 50}"] = [index]
                shared.model_extra.pop(f"m{(index + 7) % 50}", None)
                continue
            try:
                assert json.loads(encode(shared))["members"] == [1, 2, 3]
                assert shared.model_dump()["members"] == [1, 2, 3]
                assert "members=[1, 2, 3]" in repr(shared)
                assert copy.copy(shared).model_extra["members"] == [1, 2, 3]
            except RuntimeError as error:
                # As with any dict that another thread changes.
                assert "changed" in str(error)

    run_in_threads(act)


def test_the_fields_of_a_class_can_be_asked_for_by_all_at_once() -> None:
    class Fresh(v1.ToolCallStart):
        pass

    def act(number: int) -> None:
        assert list(Fresh.model_fields) == list(v1.ToolCallStart.model_fields)

    run_in_threads(act)


def test_long_chains_that_end_in_several_threads_end_to_the_last_object() -> None:
    ended: list[int] = []

    class Value:
        def __del__(self) -> None:
            # Runs amid the end of a chain, and lets the other threads run, too.
            threading.Event().wait(0)
            ended.append(1)

    def act(_: int) -> None:
        for _ in range(5):
            chain: Any = None
            for _ in range(400):
                chain = v1.ToolCallUpdate(tool_call_id="c", raw_input=chain, raw_output=Value())
            del chain

    run_in_threads(act)
    gc.collect()
    assert len(ended) == THREADS * 5 * 400
