"""Random well-formed instances of every type: read, written, copied, dumped, made again."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acp.v1.schema  # the classes are registered by this
import acp.v2.schema  # noqa: F401
from acp._core import decode, encode
from tests.codec.instances import TYPES, instances, record_types, union_types

TAGS = {"type", "mode", "state", "sessionUpdate", "outcome", "action", "operation"}


def typed(kind: Any) -> st.SearchStrategy[tuple[int, str, Any]]:
    """Version, name and an instance of one of the types that `kind` lists."""
    names = [(version, name) for version in (1, 2) for name in kind(version)]
    return st.sampled_from(names).flatmap(
        lambda key: st.tuples(st.just(key[0]), st.just(key[1]), instances(*key))
    )


def identical(a: Any, b: Any) -> bool:
    """JSON equality in which 1 and 1.0 differ and the order of members does not matter."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


@pytest.mark.parametrize(
    ("version", "name"),
    [(version, name) for version in (1, 2) for name in sorted(TYPES[version])],
)
@settings(max_examples=5)
@given(st.data())
def test_an_instance_comes_back_as_it_was(version: int, name: str, data: st.DataObject) -> None:
    instance = data.draw(instances(version, name))
    value = decode(version, name, json.dumps(instance))
    written = encode(value, version=version, type_name=name)
    assert identical(json.loads(written), instance), f"{instance}\n{written.decode()}"
    assert decode(version, name, written) == value


def objects() -> st.SearchStrategy[tuple[int, str, Any]]:
    """Version, name of the type, and an object of it."""
    return (typed(record_types) | typed(union_types)).map(
        lambda drawn: (drawn[0], drawn[1], decode(drawn[0], drawn[1], json.dumps(drawn[2])))
    )


@settings(max_examples=300)
@given(objects())
def test_copies_are_equal_and_set_the_same_fields(drawn: tuple[int, str, Any]) -> None:
    _, _, value = drawn
    copies = [
        copy.copy(value),
        copy.deepcopy(value),
        value.model_copy(),
        value.model_copy(deep=True),
        *(pickle.loads(pickle.dumps(value, protocol)) for protocol in range(2, 6)),
    ]
    for one in copies:
        assert one == value
        assert type(one) is type(value)
        assert one.model_fields_set == value.model_fields_set
        assert encode(one) == encode(value)
        assert repr(one) == repr(value)


@settings(max_examples=300)
@given(objects())
def test_every_form_of_dump_makes_the_object_again(drawn: tuple[int, str, Any]) -> None:
    _, _, value = drawn
    cls = type(value)
    for by_alias in (True, False):
        for mode in ("python", "json"):
            assert cls.model_validate(value.model_dump(mode=mode, by_alias=by_alias)) == value
            dumped = value.model_dump(mode=mode, by_alias=by_alias, exclude_unset=True)
            again = cls(**dumped)
            assert again == value
            assert again.model_fields_set == value.model_fields_set
        assert cls.model_validate_json(value.model_dump_json()) == value
        assert cls.model_validate(json.loads(value.model_dump_json(by_alias=by_alias))) == value


@settings(max_examples=300)
@given(objects())
def test_a_dump_of_what_was_set_is_what_is_written(drawn: tuple[int, str, Any]) -> None:
    version, name, value = drawn
    written = json.loads(encode(value, version=version, type_name=name))
    dumped = json.loads(value.model_dump_json(by_alias=True, exclude_unset=True))
    assert identical(plain(dumped), plain(written))


def plain(value: Any) -> Any:
    """A value without discriminators, which a dump has also where the position calls for none."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in TAGS}
    return [plain(item) for item in value] if isinstance(value, list) else value
