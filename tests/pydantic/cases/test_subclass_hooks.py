"""What pydantic does for users' subclasses beside reading: `model_post_init`, frozen objects,
assignments that validate.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pydantic
import pytest

import acp
import acp.schema as schema

TEXT = {"text": "t", "type": "text"}


class Counted(schema.TextContentBlock):
    size: int = 0
    _seen: list[Any] = pydantic.PrivateAttr(default_factory=list)

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        assert type(self) is Counted
        self.size = len(self.text)
        self._seen.append((self, context, repr(self)))

    @pydantic.model_validator(mode="after")
    def _is_counted(self) -> Counted:
        assert self.size == len(self.text), "the validator of the whole comes behind"
        return self

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def times(self) -> int:
        return len(self._seen)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Counted(**TEXT),
        lambda: Counted.model_validate(TEXT),
        lambda: Counted.model_validate_json('{"text":"t","type":"text"}'),
        lambda: Counted.model_construct(**TEXT),
        lambda: pydantic.TypeAdapter(Counted).validate_python(TEXT),
        lambda: pydantic.create_model("Held", one=(Counted, ...))(one=TEXT).one,
    ],
    ids=["constructor", "validated", "json", "constructed", "adapter", "field"],
)
def test_post_init_is_called_once_with_the_object_that_was_made(make: Any) -> None:
    made = make()
    ((seen, context, _),) = made._seen
    assert seen is made
    assert context is None
    assert made.size == 1
    assert made.model_fields_set == {"text", "type", "size"}
    # Dumps and descriptions are no reading.
    assert made.model_dump(exclude_none=True) == {**TEXT, "size": 1, "times": 1}
    assert "times=1" in repr(made)
    assert len(made._seen) == 1
    assert acp._core.encode(made) == b'{"type":"text","text":"t"}'


def test_post_init_gets_the_context_of_the_validation() -> None:
    made = Counted.model_validate(TEXT, context={"tenant": 5})
    assert made._seen[0][1] == {"tenant": 5}


def test_post_init_is_not_called_for_copies_which_keep_what_it_has_done() -> None:
    made = Counted(**TEXT)
    for one in (copy.copy(made), copy.deepcopy(made), made.model_copy()):
        assert (one.size, one.times) == (1, 1)


def test_private_values_are_pickled() -> None:
    made = Counted(**TEXT)
    made._seen = [5]
    again = pickle.loads(pickle.dumps(made))
    assert (again._seen, again.times, again.size) == ([5], 1, 1)


def test_post_init_of_a_subclass_without_fields_is_called() -> None:
    class Upper(schema.TextContentBlock):
        def model_post_init(self, context: Any, /) -> None:
            self.text = self.text.upper()

    class Further(Upper):
        pass

    for cls in (Upper, Further):
        for made in (cls(**TEXT), cls.model_validate(TEXT), cls.model_construct(**TEXT)):
            assert type(made) is cls
            assert made.text == "T"
            assert acp._core.encode(made) == b'{"type":"text","text":"T"}'


def test_post_init_of_each_class_is_called_through_super() -> None:
    called: list[str] = []

    class One(schema.TextContentBlock):
        def model_post_init(self, context: Any, /) -> None:
            super().model_post_init(context)
            called.append("one")

    class Two(One):
        n: int = 2

        def model_post_init(self, context: Any, /) -> None:
            super().model_post_init(context)
            called.append("two")

    Two(**TEXT)
    assert called == ["one", "two"]


def test_a_value_that_post_init_refuses_does_not_fit() -> None:
    class Picky(schema.TextContentBlock):
        def model_post_init(self, context: Any, /) -> None:
            raise ValueError("too short")

    with pytest.raises(pydantic.ValidationError) as caught:
        Picky(**TEXT)
    assert [(e["type"], e["loc"]) for e in caught.value.errors()] == [("value_error", ())]


def test_post_init_may_make_and_dump_objects_of_the_same_class() -> None:
    class Pair(schema.TextContentBlock):
        other: Any = None

        def model_post_init(self, context: Any, /) -> None:
            if self.text == "first":
                self.other = Pair(text="second", type="text")
                assert self.model_dump()["other"]["text"] == "second"

    made = Pair(text="first", type="text")
    assert (made.text, made.other.text, made.other.other) == ("first", "second", None)


class Frozen(schema.TextContentBlock):
    model_config = pydantic.ConfigDict(frozen=True)
    note: str = "n"
    _cache: int = pydantic.PrivateAttr(default=0)


class FrozenByOption(schema.TextContentBlock, frozen=True):
    note: str = "n"


class FrozenBelow(Frozen):
    more: int = 0


@pytest.mark.parametrize("cls", [Frozen, FrozenByOption, FrozenBelow])
@pytest.mark.parametrize("name", ["text", "note", "field_meta"])
def test_a_frozen_object_refuses_assignment_and_deletion(cls: Any, name: str) -> None:
    made = cls(**TEXT)
    for act in (lambda: setattr(made, name, "u"), lambda: delattr(made, name)):
        with pytest.raises(pydantic.ValidationError) as caught:
            act()
        assert [(e["type"], e["loc"]) for e in caught.value.errors()] == [
            ("frozen_instance", (name,))
        ]
    assert made == cls(**TEXT)


@pytest.mark.parametrize("cls", [Frozen, FrozenByOption, FrozenBelow])
def test_equal_frozen_objects_have_one_hash(cls: Any) -> None:
    assert hash(cls(**TEXT)) == hash(cls(**TEXT))
    assert len({cls(**TEXT), cls(**TEXT), cls(**TEXT, note="o")}) == 2
    with pytest.raises(TypeError):
        hash(cls(**TEXT, field_meta={"a": 1}))


def test_a_hash_of_the_users_own_is_kept() -> None:
    class Own(schema.TextContentBlock):
        model_config = pydantic.ConfigDict(frozen=True)

        def __hash__(self) -> int:
            return 5

    class Compared(schema.TextContentBlock):
        model_config = pydantic.ConfigDict(frozen=True)

        def __eq__(self, other: object) -> bool:
            return True

    assert hash(Own(**TEXT)) == 5
    assert isinstance(hash(Compared(**TEXT)), int)
    with pytest.raises(TypeError):
        hash(Counted(**TEXT))


def test_a_frozen_object_is_copied_with_changes_and_has_private_values() -> None:
    made = Frozen(**TEXT)
    changed = made.model_copy(update={"text": "u", "note": "o"})
    assert (changed.text, changed.note, made.note) == ("u", "o", "n")
    made._cache = 3
    assert made._cache == 3
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_frozen_field_alone_refuses_assignment() -> None:
    class Partly(schema.TextContentBlock):
        note: str = pydantic.Field(default="n", frozen=True)

    made = Partly(**TEXT)
    made.text = "u"
    with pytest.raises(pydantic.ValidationError) as caught:
        made.note = "o"
    assert caught.value.errors()[0]["type"] == "frozen_field"
    assert (made.text, made.note) == ("u", "n")


class Assigned(schema.TextContentBlock):
    model_config = pydantic.ConfigDict(validate_assignment=True)
    size: int = pydantic.Field(default=0, ge=0)

    @pydantic.field_validator("text")
    @classmethod
    def _lower(cls, value: str) -> str:
        return value.lower()


def test_assignment_validates_and_converts() -> None:
    made: Any = Assigned(**TEXT)
    made.size = "5"
    made.text = "UP"
    made.annotations = {"audience": ["user"]}
    assert (made.size, made.text) == (5, "up")
    assert type(made.annotations) is schema.Annotations
    assert made.model_fields_set == {"text", "type", "size", "annotations"}
    assert acp._core.encode(made) == (
        b'{"type":"text","annotations":{"audience":["user"]},"text":"up"}'
    )


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("size", -1, "greater_than_equal"),
        ("text", 5, "string_type"),
    ],
)
def test_assignment_of_what_does_not_fit_changes_nothing(name: str, value: Any, kind: str) -> None:
    made = Assigned(**TEXT)
    with pytest.raises(pydantic.ValidationError) as caught:
        setattr(made, name, value)
    assert [(e["type"], e["loc"]) for e in caught.value.errors()] == [(kind, (name,))]
    assert made == Assigned(**TEXT)
    assert made.model_fields_set == {"text", "type"}


def test_assignment_without_that_option_takes_values_as_they_are() -> None:
    made: Any = Counted(**TEXT)
    made.size = "5"
    assert made.size == "5"


def test_a_class_of_ones_own_is_derived_from_pydantics_base() -> None:
    with pytest.raises(TypeError, match=r"derive what is your own from pydantic\.BaseModel"):

        class Turn(schema.BaseModel):
            n: int = 3


def test_classes_that_only_add_methods_may_stand_before_a_class_of_the_protocol() -> None:
    class Shouting(schema.BaseModel):
        def shout(self) -> str:
            return f"{self.note}!"  # type: ignore[attr-defined]

    class Plain:
        def whisper(self) -> str:
            return "psst"

    class Noted(Shouting, Plain, schema.TextContentBlock):
        note: str = "n"

    made = Noted(**TEXT)
    assert (made.shout(), made.whisper(), made.text) == ("n!", "psst", "t")
    assert acp._core.encode(made) == b'{"type":"text","text":"t"}'


def test_a_private_value_alone_is_the_objects_and_not_the_classs() -> None:
    class Cached(schema.TextContentBlock):
        _cache = pydantic.PrivateAttr(default_factory=list[int])

    one, other = Cached(**TEXT), Cached(**TEXT)
    one._cache.append(5)
    assert (one._cache, other._cache) == ([5], [])


def test_a_field_without_annotation_is_refused_in_pydantics_words() -> None:
    with pytest.raises(pydantic.PydanticUserError, match="annotat"):

        class Noted(schema.TextContentBlock):
            note = pydantic.Field(default="n")
