"""`register` takes exactly the classes whose slots the decoder may fill."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from acp import _core
from acp._schema import SCHEMA_HASH
from acp._schema import v1 as schema
from acp._schema.base import BaseModel
from acp._schema.v1 import former

CLASSES: list[type[Any]] = list(schema.RECORDS)
FORMER: list[type[Any]] = list(former.RECORDS)
NAMES = [cls.__name__ for cls in CLASSES]


def impostor(name: str, *, base: type[Any] = BaseModel, **namespace: Any) -> type[Any]:
    """A class of the name and module of a schema class, with another body."""
    return type(name, (base,), {"__module__": "impostor", **namespace})


def register_with(replacement: type[Any], name: str | None = None) -> None:
    classes = list(CLASSES)
    classes[NAMES.index(name or replacement.__name__)] = replacement
    _core.register(1, SCHEMA_HASH, classes)


def test_a_hash_of_other_facts_is_refused() -> None:
    for other in ("", "0" * 64, SCHEMA_HASH.upper(), SCHEMA_HASH + "0"):
        with pytest.raises(ImportError, match="different facts"):
            _core.register(1, other, CLASSES)


def test_the_generated_modules_carry_the_hash_of_the_core() -> None:
    assert SCHEMA_HASH == _core.SCHEMA_HASH


@pytest.mark.parametrize("version", [0, 3, 65535])
def test_versions_that_do_not_exist_are_refused(version: int) -> None:
    with pytest.raises(TypeError, match="versions are 1 and 2"):
        _core.register(version, SCHEMA_HASH, CLASSES)


def test_classes_are_registered_once() -> None:
    with pytest.raises(ImportError, match="registered already"):
        _core.register(1, SCHEMA_HASH, CLASSES)


def test_a_missing_or_further_class_is_refused() -> None:
    for classes in (CLASSES[:-1], [*CLASSES, CLASSES[-1]], []):
        with pytest.raises(ImportError, match="belong together"):
            _core.register(1, SCHEMA_HASH, classes)


def test_the_classes_of_former_releases_are_registered_by_themselves() -> None:
    with pytest.raises(ImportError, match="registered already"):
        _core.register(1, SCHEMA_HASH, FORMER, former=True)
    for classes in (CLASSES, [*CLASSES, *FORMER], FORMER[1:], []):
        with pytest.raises(ImportError, match="belong together"):
            _core.register(1, SCHEMA_HASH, classes, former=True)
    with pytest.raises(ImportError, match="belong together"):
        _core.register(1, SCHEMA_HASH, [*CLASSES, *FORMER])
    # Version 2 has none.
    with pytest.raises(ImportError, match="belong together"):
        _core.register(2, SCHEMA_HASH, [], former=True)


def test_classes_in_another_order_are_refused() -> None:
    swapped = [CLASSES[1], CLASSES[0], *CLASSES[2:]]
    with pytest.raises(ImportError, match="not the class of this place"):
        _core.register(1, SCHEMA_HASH, swapped)


def test_things_that_are_no_classes_are_refused() -> None:
    with pytest.raises(TypeError):
        _core.register(1, SCHEMA_HASH, [*CLASSES[:-1], "TextContent"])


def test_a_class_that_is_no_model_is_refused() -> None:
    with pytest.raises(ImportError, match="not the class of this place"):
        register_with(type("Annotations", (), {"__slots__": ()}))


ANNOTATIONS = ("audience", "last_modified", "priority", "field_meta")


@pytest.mark.parametrize(
    "namespace",
    [
        # Something else in the place of a slot.
        {"__slots__": ANNOTATIONS[:-1], "field_meta": None},
        {"__slots__": ANNOTATIONS[:-1], "field_meta": property(lambda self: None)},
        {"__slots__": ANNOTATIONS[:-1], "field_meta": lambda self: None},
        {"audience": 1, "last_modified": 1, "priority": 1, "field_meta": 1},
        # Member descriptors of other kinds: read only, not an object, of another class.
        {"__slots__": ANNOTATIONS[:-1], "field_meta": type.__dict__["__dictoffset__"]},
        {"__slots__": ANNOTATIONS[:-1], "field_meta": slice.__dict__["start"]},
        {"__slots__": ANNOTATIONS[:-1], "field_meta": schema.TextContent.__dict__["text"]},
        {"__slots__": ANNOTATIONS[:-1], "field_meta": schema.Usage.__dict__["field_meta"]},
    ],
    ids=[
        "constant",
        "property",
        "method",
        "no-slots",
        "read-only",
        "of-slice",
        "other-name",
        "other-class",
    ],
)
def test_a_field_that_is_no_slot_of_the_class_is_refused(namespace: dict[str, Any]) -> None:
    with pytest.raises(ImportError, match="Annotations: a field is no object slot"):
        register_with(impostor("Annotations", **namespace))


def test_two_fields_in_one_slot_are_refused() -> None:
    cls = impostor("Annotations", __slots__=ANNOTATIONS)
    cls.priority = cls.audience
    with pytest.raises(ImportError, match="a field is no object slot"):
        register_with(cls)


def test_a_class_without_a_member_at_all_is_refused() -> None:
    with pytest.raises(ImportError, match="a field is no object slot"):
        register_with(impostor("Annotations", __slots__=ANNOTATIONS[:-1]))


def test_a_discriminator_of_another_value_is_refused() -> None:
    with pytest.raises(ImportError, match="a discriminator is not the one"):
        register_with(
            impostor("TextContentBlock", base=schema.TextContent, __slots__=(), type="image")
        )
    with pytest.raises(ImportError, match="a discriminator is not the one"):
        register_with(impostor("TextContentBlock", base=schema.TextContent, __slots__=()))


def test_a_class_that_is_larger_than_it_has_to_be_is_no_danger() -> None:
    # Refused only because classes are registered once: every check before that passes.
    with pytest.raises(ImportError, match="registered already"):
        register_with(impostor("Annotations", __slots__=(*ANNOTATIONS, "more")))


def test_a_failed_registration_leaves_the_registered_classes_as_they_are() -> None:
    with pytest.raises(ImportError):
        register_with(impostor("Annotations", __slots__=()), "Annotations")
    value = _core.decode(1, "Annotations", '{"priority":0.5,"lastModified":"x"}')
    assert type(value) is schema.Annotations
    assert (value.priority, value.last_modified) == (0.5, "x")


def test_every_class_has_exactly_the_slots_of_its_fields() -> None:
    for cls in (*CLASSES, *FORMER):
        facts = {name for name, *_ in _core.field_facts(cls)}
        slots = {name for base in cls.__mro__ for name in base.__dict__.get("__slots__", ())}
        constants = {name for name in facts - slots if isinstance(getattr(cls, name), str)}
        assert facts == slots | constants, cls
        assert not hasattr(cls.model_construct(), "__dict__"), cls


def test_a_program_without_the_classes_is_told_what_to_import() -> None:
    code = (
        "from acp import _core\n"
        "for act in (lambda: _core.decode(2, 'ContentBlock', '{}'),):\n"
        "    try: act()\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == (
        "the classes of protocol version 2 are not loaded; import acp.v2.schema\n"
    )


def test_the_bare_root_class_makes_no_objects() -> None:
    for make in (_core.Model, BaseModel, type("Own", (BaseModel,), {})):
        with pytest.raises(TypeError, match="not a class of the schema"):
            make()
        with pytest.raises(TypeError, match="not a class of the schema"):
            make.model_validate({})
