"""Users' subclasses of schema classes with fields, validators and options of pydantic's own."""

from __future__ import annotations

import copy
import pickle
from typing import Any, ClassVar

import pydantic
import pytest

import acp
import acp.schema as schema


class Legacy(pydantic.BaseModel):
    current: str


class WithModels(schema.NewSessionResponse):
    models: Legacy | None = None
    tries: int = pydantic.Field(default=0, alias="triesSoFar", ge=0)
    known: ClassVar[int] = 7

    @pydantic.field_validator("models", mode="before")
    @classmethod
    def _drop(cls, value: Any) -> Any:
        try:
            return Legacy.model_validate(value)
        except pydantic.ValidationError:
            return None

    @pydantic.field_validator("session_id")
    @classmethod
    def _lower(cls, value: str) -> str:
        return value.lower()

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def loud(self) -> str:
        return self.session_id.upper()

    def described(self) -> str:
        return f"{self.session_id} {self.tries}"


def test_new_fields_are_read_checked_and_kept() -> None:
    made = WithModels.model_validate({"sessionId": "S", "models": {"current": "m"}})
    assert type(made) is WithModels
    assert isinstance(made, schema.NewSessionResponse)
    assert isinstance(made, pydantic.BaseModel)
    assert (made.session_id, made.models, made.tries) == ("s", Legacy(current="m"), 0)
    assert made.described() == "s 0"
    assert (made.loud, WithModels.known) == ("S", 7)
    assert WithModels(session_id="S", models=5, triesSoFar=2).tries == 2
    assert WithModels.model_validate_json('{"sessionId":"S"}').models is None
    modes = {"availableModes": [], "currentModeId": "m"}
    assert type(WithModels(session_id="s", modes=modes).modes) is schema.SessionModeState


def test_all_faults_of_such_a_class_are_told_together() -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        WithModels(session_id=5, triesSoFar=-1)
    assert [(e["type"], e["loc"]) for e in caught.value.errors()] == [
        ("string_type", ("session_id",)),
        ("greater_than_equal", ("triesSoFar",)),
    ]


def test_new_fields_are_dumped_described_and_known() -> None:
    made = WithModels(session_id="s", models={"current": "m"})
    assert made.model_fields_set == {"session_id", "models"}
    assert made.model_dump(exclude_none=True) == {
        "session_id": "s",
        "models": {"current": "m"},
        "tries": 0,
        "loud": "S",
    }
    assert made.model_dump(by_alias=True, exclude_unset=True) == {
        "sessionId": "s",
        "models": {"current": "m"},
        "loud": "S",
    }
    assert '"triesSoFar":0' in made.model_dump_json(by_alias=True)
    assert "models=Legacy(current='m')" in repr(made)
    assert dict(made)["tries"] == 0
    assert {"session_id", "models", "tries"} <= set(WithModels.model_fields)
    assert "triesSoFar" in WithModels.model_json_schema()["properties"]


def test_assigning_a_new_field_sets_it() -> None:
    made = WithModels(session_id="s")
    made.tries = 3
    assert "tries" in made.model_fields_set
    assert made.model_dump(exclude_unset=True)["tries"] == 3


def test_copies_have_the_new_fields_too() -> None:
    made = WithModels(session_id="s", models={"current": "m"})
    copies = (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made)))
    for one in (*copies, made.model_copy(), made.model_copy(deep=True)):
        assert type(one) is WithModels
        assert one == made
        assert one.models == made.models
        assert one.model_fields_set == {"session_id", "models"}
    changed = made.model_copy(update={"tries": 4, "session_id": "t"})
    assert (changed.tries, changed.session_id, made.tries) == (4, "t", 0)
    assert changed != made


def test_construction_without_validation_takes_new_fields_as_they_are() -> None:
    made: Any = WithModels.model_construct(session_id="S", models=5)
    assert (made.session_id, made.models, made.tries) == ("S", 5, 0)


def test_construction_without_validation_may_leave_out_a_new_field() -> None:
    class Needed(schema.TextContentBlock):
        note: str

    made = Needed.model_construct(text="t")
    assert not hasattr(made, "note")
    assert made.model_dump(exclude_none=True, warnings=False) == {"text": "t", "type": "text"}


def test_such_a_class_is_a_field_of_others_and_derives_further() -> None:
    class More(WithModels):
        model_config = pydantic.ConfigDict(extra="allow")
        more: str = "m"

    more = More(session_id="S", other=5)
    assert more.model_dump(exclude_none=True)["more"] == "m"
    assert (more.other, more.model_extra, more.model_dump()["other"]) == (5, {"other": 5}, 5)
    assert More(session_id="S", triesSoFar=1).session_id == "s"
    held = pydantic.create_model("Held", one=(WithModels, ...))
    assert type(held(one={"sessionId": "S", "triesSoFar": 1}).one) is WithModels
    assert held(one={"sessionId": "S"}).model_dump()["one"]["tries"] == 0
    with pytest.raises(pydantic.ValidationError):
        held(one={"sessionId": 5})


def test_local_names_of_annotations_are_found() -> None:
    class Local(pydantic.BaseModel):
        at: str

    class Noted(schema.TextContentBlock):
        note: Local | None = None

    assert Noted(text="t", type="text", note={"at": "here"}).note == Local(at="here")


def test_a_constructor_of_ones_own_may_call_the_one_above() -> None:
    class Prepared(schema.TextContentBlock):
        note: str = "none"

        def __init__(self, text: str, **members: Any) -> None:
            super().__init__(text=text, type="text", **members)

    assert (Prepared("t", note="n").note, Prepared("t").text) == ("n", "t")


def test_a_plain_subclass_stays_one() -> None:
    class Shouting(schema.TextContentBlock):
        def shout(self) -> str:
            return self.text.upper()

    one = Shouting(text="t")
    assert one.shout() == "T"
    assert isinstance(one, pydantic.BaseModel)
    assert type(copy.copy(one)) is Shouting
    assert "annotations" in one.model_dump()


def test_such_an_object_goes_over_the_wire_as_the_class_of_the_protocol() -> None:
    made = WithModels(session_id="s", models={"current": "m"})
    assert acp._core.encode(made) == b'{"sessionId":"s"}'
