"""Variants of open unions on version 2: malformed ones are faults, unknown ones come back whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp._core import ValidationError, decode
from tests.codec.instances import instances
from tests.hostile.relay import Relay, relay
from tests.hostile.variants import (
    OPEN,
    Variant,
    breakable,
    broken,
    known_variants,
    mistaken,
    place_of,
    unknown,
    valid,
)

few = settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
each_union = pytest.mark.parametrize("union", sorted(OPEN))


def same(a: Any, b: Any) -> bool:
    """Equality of JSON values: 1 and 1.0 differ, the order of members does not matter."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def test_nearly_every_known_variant_has_something_that_must_be_right() -> None:
    without = {variant.target for variant in known_variants()}
    without -= {variant.target for variant in breakable()}
    assert without == {
        *("DeclineElicitationResponse", "CancelElicitationResponse", "DeniedOutcome"),
        *("ElicitationBooleanPropertySchema", "ReplayFromStart", "ReplayComplete"),
        *("RunningStateUpdate", "IdleStateUpdate", "RequiresActionStateUpdate"),
        *("UnknownStateUpdate", "SessionInfoUpdate"),
    }


@pytest.mark.parametrize("variant", breakable(), ids=str)
@settings(max_examples=20)
@given(data=st.data())
def test_a_known_variant_with_one_broken_member_is_a_fault(
    variant: Variant, data: st.DataObject
) -> None:
    """C-285."""
    whole = data.draw(valid(variant))
    assert mistaken(decode(2, variant.union, json.dumps(whole))) == []
    with pytest.raises(ValidationError) as caught:
        decode(2, variant.union, json.dumps(data.draw(broken(variant))))
    assert caught.value.errors()


async def through(made: Relay, union: str, value: Any, params: Any) -> Any:
    """What an end gets of a message in which another one sent `value`; None when it gets none."""
    place = place_of(union)
    method = place.method
    sender, receiver = made.ends(method.side)
    if method.kind == "notification":
        await sender.notify(method.wire, value)
        await sender.request("mark", "_mark", {})
        message = await receiver.receive()
        return message["params"] if message["method"] == method.wire else None
    await sender.request("asked", method.wire, value if place.part == "params" else params)
    if place.part == "params":
        # It is refused, or sent on.
        await sender.request("mark", "_mark", {})
        message = await receiver.receive()
        return message["params"] if message["method"] == method.wire else None
    await receiver.answer((await receiver.receive())["id"], value)
    return (await sender.receive()).get("result")


@each_union
@few
@given(data=st.data())
async def test_an_unknown_variant_comes_back_as_it_was_sent(
    union: str, data: st.DataObject
) -> None:
    """In a message, to an object, to a message: all of it, in the place where it stood."""
    place = place_of(union)
    value = data.draw(place.holding(unknown(union)))
    if place.method.wire == "initialize":
        value["protocolVersion"] = 2
        async with relay(value) as made:
            assert same(made.opened, value)
        return
    params = data.draw(instances(2, place.method.params))
    async with relay() as made:
        assert same(await through(made, union, value, params), value)
        assert made.told == []


@pytest.mark.parametrize("union", sorted({variant.union for variant in breakable()}))
@few
@given(data=st.data())
async def test_a_malformed_known_variant_goes_through_nothing_as_an_unknown_one(
    union: str, data: st.DataObject
) -> None:
    """C-285: where it is one item of a list, or may be absent, it is left out; else all is refused.
    The hook is told of either.
    """
    place = place_of(union)
    variants = [broken(variant) for variant in breakable() if variant.union == union]
    value = data.draw(place.holding(st.one_of(variants)))
    if place.method.wire == "initialize":
        value["protocolVersion"] = 2
        async with relay(value) as made:
            assert not made.opened.get("authMethods")
            assert [each.kind for each in made.told] == ["skipped"]
        return
    params = data.draw(instances(2, place.method.params))
    async with relay() as made:
        arrived = await through(made, union, value, params)
        assert mistaken(made.seen) == []
        assert made.told
        assert {each.kind for each in made.told} <= {"params", "result", "skipped"}
        assert (arrived is None) is any(each.kind != "skipped" for each in made.told)
        assert not same(arrived, value)
