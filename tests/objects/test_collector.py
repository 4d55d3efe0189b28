"""Which objects the garbage collector looks at.

Owns the promise that decoded leaves cost a collection nothing, and that no cycle is lost by it.
"""

from __future__ import annotations

import gc
import weakref

import acp.schema as v1
import acp.v2.schema as v2
from acp._core import decode


def chunk() -> v1.SessionNotification:
    return decode(
        1,
        "SessionNotification",
        '{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk",'
        '"content":{"type":"text","text":"hi"}}}',
    )


def test_a_decoded_object_that_holds_no_other_is_not_tracked_and_its_owner_is() -> None:
    note = chunk()
    assert isinstance(note.update, v1.AgentMessageChunk)
    assert not gc.is_tracked(note.update.content)
    assert gc.is_tracked(note.update)
    assert gc.is_tracked(note)


def test_a_decoded_object_with_a_container_is_tracked() -> None:
    assert gc.is_tracked(decode(1, "TextContent", '{"text":"a","_meta":{"k":[1]}}'))
    assert gc.is_tracked(decode(1, "ClientCapabilities", "{}"))
    other = decode(2, "ContentBlock", '{"type":"x","deep":[[]]}')
    assert isinstance(other, v2.OtherContentBlock)
    assert gc.is_tracked(other)


def test_a_cycle_through_a_decoded_leaf_is_collected() -> None:
    note = chunk()
    assert isinstance(note.update, v1.AgentMessageChunk)
    leaf = note.update.content
    leaf.field_meta = {"whole": note}
    gone = weakref.ref(leaf)
    del leaf, note
    gc.collect()
    assert gone() is None


def test_copies_of_a_decoded_leaf_can_be_part_of_a_cycle() -> None:
    leaf = decode(1, "TextContent", '{"text":"a"}')
    assert not gc.is_tracked(leaf)
    held: dict[str, object] = {}
    copy = leaf.model_copy(update={"field_meta": held})
    held["copy"] = copy
    gone = weakref.ref(copy)
    del copy, held
    gc.collect()
    assert gone() is None
