"""Objects and memory: nothing is kept that is not reachable, and cycles are collected."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import acp.v1.schema as v1
import acp.v2.schema as v2
from acp._core import Model, ValidationError, decode, encode

UPDATE = (
    '{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","rawInput":'
    '{"a":[1,2.5,"x",null,12345678901234567890123]},"content":[{"type":"content","content":{"type":'
    '"text","text":"\\u00e9\\ud800"}}],"locations":[{"path":"/p","line":5,"more":1}],"_meta":{}}}'
)
FAULTY = UPDATE.replace('"type":"text"', '"type":"smell"').replace('"title":"t"', '"title":5')
OTHER = '{"type":"smell","strength":[5],"more":{"a":{}}}'


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    gc.collect()
    yield
    gc.collect()


def failing(act: Callable[[], Any]) -> Callable[[], None]:
    def run() -> None:
        try:
            act()
        except ValueError:
            return
        raise AssertionError("did not fail")

    return run


def tool_call() -> Any:
    return decode(1, "SessionNotification", UPDATE)


def knot() -> Any:
    block: Any = v1.TextContentBlock(text="t", field_meta={})
    block.field_meta["me"] = block
    return block


class Marked(v1.TextContentBlock):
    """A user's subclass."""


CALL, KNOT = tool_call(), knot()
ACTS: dict[str, Callable[[], Any]] = {
    "decode": tool_call,
    "decode a catch-all": lambda: decode(2, "ContentBlock", OTHER),
    "decode a value that does not fit": failing(lambda: decode(1, "SessionNotification", FAULTY)),
    "decode a text that is no JSON": failing(lambda: decode(1, "SessionNotification", UPDATE[:-1])),
    "decode repeated members": lambda: decode(
        1, "ContentBlock", '{"text":5,"_meta":{"a":1},"type":"text","text":"t","_meta":null}'
    ),
    "decode with the wrong scope": failing(
        lambda: decode(2, "CreateElicitationRequest", '{"mode":"form","sessionId":"s"}')
    ),
    "construct": lambda: v1.PromptRequest(
        session_id="s",
        prompt=[v1.TextContentBlock(text="t"), {"type": "text", "text": "u"}],
        field_meta={"a": [1]},
    ),
    "construct what does not fit": failing(
        lambda: v1.PromptRequest(session_id=5, prompt=[{"type": "text"}, v1.Annotations()])
    ),
    "construct from iterators": lambda: v1.CreateTerminalRequest(
        session_id="s", command="c", args=iter(["a"]), env=({"name": "n", "value": x} for x in "ab")
    ),
    "construct again": lambda: v2.OtherContentBlock(type="a", x=[1]).__init__(type="b", y=[2]),
    "construct a catch-all": lambda: v2.OtherContentBlock(type="a", x=[1]),
    "construct from what is too large": lambda: v1.Annotations(priority=10**400),
    "construct with a name that is no text": lambda: v1.Annotations(**{"\ud800": 1}),
    "construct with malformed members": lambda: v1.Annotations(audience=[5, ""], priority=""),
    "construct a subclass": lambda: Marked(text="t"),
    "construct without validation": lambda: v2.OtherContentBlock.model_construct(type="a", x=[1]),
    "validate": lambda: v1.NewSessionResponse.model_validate({"session_id": "s", "modes": None}),
    "validate JSON": lambda: v1.TextContentBlock.model_validate_json('{"text":"t","_meta":{}}'),
    "encode": lambda: encode(CALL),
    "encode foreign values": lambda: encode({"s": {1}, "b": b"x", 5: (1,), "u": "\ud800"}),
    "encode what cannot be written": failing(lambda: encode([v1.Annotations(), {"a": object()}])),
    "dump": lambda: (CALL.model_dump(), CALL.model_dump(mode="json", by_alias=True)),
    "dump to text": lambda: CALL.model_dump_json(indent=2, exclude_none=True),
    "dump a choice": lambda: CALL.model_dump(include={"update": {"title"}}),
    "dump a knot": lambda: failing(KNOT.model_dump)(),
    "copy": lambda: (copy.copy(CALL), copy.deepcopy(CALL), CALL.model_copy()),
    "copy a knot": lambda: copy.deepcopy(KNOT),
    "pickle": lambda: pickle.loads(pickle.dumps(CALL)),
    "update": lambda: v2.OtherContentBlock(type="a").model_copy(update={"type": "b", "x": [1]}),
    "compare": lambda: tool_call() == CALL and CALL != 5,
    "describe": lambda: (repr(CALL), str(CALL)),
    "describe a knot": lambda: repr(KNOT),
    "iterate": lambda: list(CALL),
    "assign": lambda: setattr(v1.TextContentBlock(text="t"), "text", ["u"]),
    "assign what is no field": failing(
        lambda: setattr(v1.TextContentBlock(text="t"), "nothing", 1)
    ),
    "delete": lambda: delattr(v1.TextContentBlock(text="t"), "text"),
    "list the set fields": lambda: CALL.model_fields_set,
    "ask an error": lambda: error().errors() and pickle.loads(pickle.dumps(error())),
}


def error() -> ValidationError:
    try:
        decode(1, "SessionNotification", FAULTY)
    except ValidationError as raised:
        return raised
    raise AssertionError("did not fail")


@pytest.mark.parametrize("name", sorted(ACTS))
def test_nothing_leaks(name: str) -> None:
    act = ACTS[name]

    def blocks_after(rounds: int) -> int:
        for _ in range(rounds):
            act()
        gc.collect()
        return sys.getallocatedblocks()

    def kept_by(rounds: int) -> int:
        before = blocks_after(50)
        return blocks_after(rounds) - before

    blocks_after(300)
    # Python's own caches grow now and then; a leak is a block or more in every round of every try.
    tries = (kept_by(1000) for _ in range(4))
    assert any(kept < 300 for kept in tries), "blocks are kept"


@pytest.mark.parametrize("name", sorted(ACTS))
def test_references_to_shared_objects_are_balanced(name: str) -> None:
    shared: list[Any] = [v1.TextContentBlock, v1.ToolCallStart, v2.OtherContentBlock, None, True]
    shared += [v1.TextContentBlock.__dict__["type"], v1.PromptRequest]
    act = ACTS[name]
    act()
    before = [sys.getrefcount(one) for one in shared]
    for _ in range(200):
        act()
    gc.collect()
    after = [sys.getrefcount(one) for one in shared]
    assert all(abs(a - b) < 50 for a, b in zip(after, before, strict=True)), (before, after)


def test_values_die_with_their_object() -> None:
    class Value:
        pass

    def dead(*references: weakref.ref[Any]) -> list[bool]:
        return [reference() is None for reference in references]

    value, later = Value(), Value()
    block: Any = v1.TextContentBlock(text="t", field_meta={"v": value})
    block.annotations = later
    references = (weakref.ref(value), weakref.ref(later), weakref.ref(block))
    del value, later
    assert dead(*references) == [False, False, False]
    block.annotations = None
    assert dead(*references) == [False, True, False]
    del block
    assert dead(*references) == [True, True, True]


def cyclic_field() -> Any:
    block: Any = v1.TextContentBlock(text="t", field_meta={})
    block.field_meta["me"] = block
    return block


def cyclic_slot() -> Any:
    block: Any = v1.TextContentBlock(text="t")
    block.annotations = block
    return block


def cyclic_extra() -> Any:
    block: Any = v2.OtherContentBlock(type="a")
    block.model_extra["me"] = [block]
    return block


def cyclic_subclass() -> Any:
    marked: Any = Marked(text="t")
    marked.me = marked
    return marked


def cyclic_pair() -> Any:
    one, other = v1.ToolCallUpdate(tool_call_id="a"), v1.ToolCallUpdate(tool_call_id="b")
    one.raw_input, other.raw_output = {"it": other}, (one,)
    return one


@pytest.mark.parametrize(
    "make", [cyclic_field, cyclic_slot, cyclic_extra, cyclic_subclass, cyclic_pair]
)
def test_a_cycle_is_collected(make: Callable[[], Any]) -> None:
    gc.disable()
    try:
        reference = weakref.ref(make())
        assert reference() is not None
        gc.collect()
        assert reference() is None
    finally:
        gc.enable()


def test_a_cycle_through_a_copy_is_collected() -> None:
    reference = weakref.ref(copy.deepcopy(cyclic_field()))
    gc.collect()
    assert reference() is None


def test_finalizers_see_whole_objects_and_may_bring_them_back() -> None:
    seen: list[Any] = []

    class Final(v1.TextContentBlock):
        def __del__(self) -> None:
            seen.append((self.text, self.model_dump(exclude_none=True)))
            kept.append(self)

    kept: list[Any] = []
    made: Any = Final(text="t")
    made.me = made
    del made
    gc.collect()
    assert seen == [("t", {"text": "t", "type": "text"})]
    assert kept[0].text == "t"
    assert encode(kept[0]) == b'{"type":"text","text":"t"}'


def test_the_collector_may_run_at_any_allocation_and_look_at_half_made_objects() -> None:
    seen = 0

    def look(phase: str, _: dict[str, int]) -> None:
        nonlocal seen
        if phase != "start":
            return
        for one in gc.get_objects(0):
            if isinstance(one, Model):
                assert repr(one)
                one.model_dump()
                seen += 1

    thresholds = gc.get_threshold()
    gc.callbacks.append(look)
    gc.set_threshold(1)
    try:
        for _ in range(30):
            tool = tool_call()
            assert pickle.loads(pickle.dumps(copy.deepcopy(tool))) == tool
            failing(lambda: decode(1, "SessionNotification", FAULTY))()
            v1.PromptRequest(session_id="s", prompt=[v1.TextContentBlock(text="t")])
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(look)
    assert seen > 100


def test_a_value_that_changes_the_object_while_it_dies_is_no_danger() -> None:
    class Meddling:
        def __del__(self) -> None:
            block.annotations = 1
            block.model_copy()
            del block.annotations

    block: Any = v1.TextContentBlock(text="t")
    block.annotations = Meddling()
    block.annotations = None
    assert not hasattr(block, "annotations") or block.annotations in (None, 1)
    block.__init__(text="u", annotations=None)
    assert block == v1.TextContentBlock(text="u")


def test_a_dict_that_changes_while_an_object_is_made_of_it_is_no_danger() -> None:
    class Meddling(dict[str, Any]):
        def __eq__(self, other: object) -> bool:
            members.clear()
            return False

        __hash__ = None

    def growing() -> Iterator[str]:
        for index in range(200):
            members[f"more{index}"] = index
            yield "a"

    members: dict[Any, Any] = {"args": growing(), "sessionId": "s", "command": "c"}
    made = v1.CreateTerminalRequest.model_validate(members)
    assert made.args == ["a"] * 200

    class Clearing:
        def __iter__(self) -> Iterator[str]:
            members.clear()
            gc.collect()
            return iter(["b"])

    members = {"command": "c" * 1000, "args": Clearing(), "sessionId": "s" * 1000}
    with pytest.raises(ValidationError):
        v1.CreateTerminalRequest.model_validate(members)


def test_a_long_chain_of_objects_is_freed_without_recursion() -> None:
    for make in (
        lambda inner: v1.TextContentBlock(text="t", field_meta={"inner": inner}),
        lambda inner: v2.OtherContentBlock(type="a", inner=inner),
        lambda inner: v1.ToolCallUpdate(tool_call_id="c", raw_input=inner),
    ):
        chain: Any = None
        for _ in range(100_000):
            chain = make(chain)
        del chain
        gc.collect()


def test_kept_errors_do_not_keep_what_they_are_about() -> None:
    class Value:
        pass

    value = Value()
    reference = weakref.ref(value)
    with pytest.raises(ValidationError) as caught:
        v1.TextContentBlock(text=value)
    kept = ValidationError(caught.value.title, caught.value.errors())
    del caught, value
    gc.collect()
    assert reference() is None
    assert kept.error_count() == 1
