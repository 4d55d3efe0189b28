"""Methods outside of the protocol, with types of the user's, in both directions."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import pytest

import acp
from acp import v1, v2
from acp._endpoint.user_types import of_user
from tests.endpoint.ends import (
    agent_of,
    ask,
    each_link,
    each_version,
    facing_agent,
    facing_client,
    is_served,
    joined,
)
from tests.raw_peer import within
from tests.sides import until


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0


@dataclasses.dataclass
class Drawing:
    name: str
    points: list[Point]
    colors: dict[str, Color] = dataclasses.field(default_factory=dict)
    style: Literal["thin", "thick"] | None = None
    size: tuple[int, ...] = ()
    exact: bool = True


class Model:
    """What data classes of other libraries look like from outside."""

    model_fields: ClassVar[Any] = {"text": None, "count": None}

    def __init__(self, text: str, count: int) -> None:
        self.text = text
        self.count = count

    @classmethod
    def model_validate(cls, value: Any) -> Model:
        faults: list[dict[str, Any]] = []
        if not isinstance(value.get("text"), str):
            faults.append({"loc": ("text",), "type": "string_type", "msg": "a str", "input": value})
        faults += [
            {"loc": (key, 0), "type": "extra", "msg": f"no {key}", "input": 1}
            for key in value
            if key not in ("text", "count")
        ]
        if faults:
            raise ModelError(faults)
        return cls(value["text"], value.get("count", 0))

    def model_dump(self, *, mode: str, by_alias: bool) -> dict[str, Any]:
        assert (mode, by_alias) == ("json", True)
        return {"text": self.text, "count": self.count}


class ModelError(ValueError):
    def __init__(self, faults: list[dict[str, Any]]) -> None:
        super().__init__(str(faults))
        self.faults = faults

    def errors(self) -> list[dict[str, Any]]:
        return self.faults


def double(value: Any) -> Any:
    """A function as a type."""
    return [value["items"], value["items"]]


@each_link
@each_version
async def test_a_dataclass_is_params_and_result_in_both_directions(v: Any, link: str) -> None:
    agent, client = agent_of(v), v.Client()
    noted: list[Any] = []

    @agent.on_request("_x/draw", params=Drawing)
    async def draw(drawing: Drawing, ctx: Any) -> Point:
        # The other direction, while it is asked.
        point = await ctx.connection.request("_x/point", drawing.points[0], result=Point)
        await ctx.connection.notify("_x/note", point)
        return Point(x=point.x + 1, y=point.y)

    @client.on_request("_x/point", params=Point)
    def move(point: Point) -> Point:
        assert type(point) is Point
        return Point(x=point.x + 1, y=point.y)

    agent.on_request("_x/again", params=list[Drawing])(lambda drawings: drawings)
    client.on_notification("_x/note", params=Point)(noted.append)
    async with joined(agent, client, link) as (_, connection):
        drawing = Drawing("d", [Point(1, 2.5)], {"line": Color.RED}, size=(1, 2))
        for params in (drawing, {"name": "d", "points": [{"x": 1, "y": 2.5}], "more": 1}):
            result = await within(connection.request("_x/draw", params, result=Point))
            assert result == Point(3, 2.5)
        await until(lambda: noted == [Point(2, 2.5)] * 2)
        # What is in a list or in another one gets through as well.
        again = await within(connection.request("_x/again", [drawing], result=list[Drawing]))
        assert again == [drawing]


@each_version
async def test_a_model_is_params_and_result_in_both_directions(v: Any) -> None:
    agent, client = agent_of(v), v.Client()

    @agent.on_request("_x/model", params=Model)
    async def model(value: Model, ctx: Any) -> Model:
        other = await ctx.connection.request("_x/model", value, result=Model)
        return Model(other.text * 2, value.count + 1)

    client.on_request("_x/model", params=Model)(lambda value: Model(value.text + "!", 0))
    async with joined(agent, client) as (_, connection):
        result = await within(connection.request("_x/model", Model("a", 1), result=Model))
    assert (result.text, result.count) == ("a!a!", 2)


@each_version
async def test_a_function_makes_params_and_results(v: Any) -> None:
    agent = v.Agent()
    agent.on_request("_x/double", params=double)(lambda value: {"items": value})
    async with joined(agent, v.Client()) as (_, connection):
        result = await within(connection.request("_x/double", {"items": 1}, result=double))
    assert result == [[1, 1], [1, 1]]


@each_version
async def test_schema_types_serve_extensions_too(v: Any) -> None:
    agent = v.Agent()
    block = v.schema.TextContentBlock
    agent.on_request("_x/block", params=block)(lambda each: block(text=each.text + "!"))
    async with joined(agent, v.Client()) as (_, connection):
        result = await within(connection.request("_x/block", block(text="a"), result=block))
    assert result == block(text="a!")


SECRET = "hunter2"


@each_version
async def test_params_that_do_not_fit_are_told_by_place_and_rule_and_never_by_value(
    v: Any, caplog: pytest.LogCaptureFixture
) -> None:
    agent = v.Agent()
    called: list[Any] = []
    for name, kind in (("drawing", Drawing), ("model", Model), ("double", double)):
        agent.on_request(f"_x/{name}", params=kind)(called.append)
        agent.on_notification(f"_x/{name}", params=kind)(called.append)

    def fault(*place: Any, rule: str) -> dict[str, Any]:
        return {"loc": list(place), "type": rule}

    cases: list[tuple[str, Any, list[dict[str, Any]]]] = [
        ("drawing", [], [fault(rule="object_type")]),
        (
            "drawing",
            {"points": [{"x": SECRET}, {"y": 1}, 5], "colors": {SECRET: SECRET}},
            [
                fault("name", rule="missing"),
                fault("points", 0, "x", rule="int_type"),
                fault("points", 1, "x", rule="missing"),
                fault("points", 2, rule="object_type"),
                fault("colors", "*", rule="unknown_value"),
            ],
        ),
        (
            "drawing",
            {"name": 1, "points": {}, "style": SECRET, "size": [1, True], "exact": 0},
            [
                fault("name", rule="string_type"),
                fault("points", rule="list_type"),
                fault("style", rule="no_fit"),
                fault("size", 1, rule="int_type"),
                fault("exact", rule="bool_type"),
            ],
        ),
        (
            "model",
            {"text": 5, SECRET: SECRET},
            [fault("text", rule="string_type"), fault("*", 0, rule="extra")],
        ),
        ("double", {"other": SECRET}, [fault(rule="no_fit")]),
    ]
    async with facing_agent(agent, v) as (_, peer):
        for name, params, faults in cases:
            error = (await ask(peer, f"_x/{name}", params))["error"]
            assert error["code"] == -32602
            assert error["message"] == "Invalid params"
            for each in error["data"]:
                assert each.pop("message")
            assert error["data"] == faults
            assert SECRET not in str(error)
            await peer.notify(f"_x/{name}", params)
        assert await is_served(peer)
    assert called == []
    assert SECRET not in caplog.text


@each_version
async def test_a_result_that_does_not_fit_the_users_type_fails_its_caller_alone(v: Any) -> None:
    async with facing_client(v.Client(), v) as (connection, peer):
        sent = connection.request("_x/point", {}, result=Point)
        request = await peer.receive()
        await peer.answer(request["id"], {"x": SECRET})
        with pytest.raises(acp.ValidationError) as caught:
            await within(sent)
        assert SECRET not in str(caught.value)
        assert [(each["loc"], each["type"]) for each in caught.value.errors()] == [
            (("x",), "int_type")
        ]
        assert await is_served(peer)


@each_version
async def test_a_function_may_refuse_with_an_error_of_its_own(v: Any) -> None:
    def refuse(value: Any) -> Any:
        raise acp.RequestError(-32602, "not so", {"hint": 1})

    agent = v.Agent()
    agent.on_request("_x/refuse", params=refuse)(lambda _: None)
    async with facing_agent(agent, v) as (_, peer):
        error = (await ask(peer, "_x/refuse"))["error"]
    assert error == {"code": -32602, "message": "not so", "data": {"hint": 1}}


@each_version
async def test_a_fault_of_a_type_that_is_none_of_the_value_is_the_handlers(v: Any) -> None:
    def broken(value: Any) -> Any:
        raise ZeroDivisionError

    agent = v.Agent()
    agent.on_request("_x/broken", params=broken)(lambda _: None)
    async with facing_agent(agent, v) as (_, peer):
        error = (await ask(peer, "_x/broken"))["error"]
    assert (error["code"], error["data"]) == (-32603, {"type": "ZeroDivisionError"})


@dataclasses.dataclass
class Checked:
    even: int

    def __post_init__(self) -> None:
        if self.even % 2:
            raise ValueError(self.even)


@pytest.mark.parametrize(
    ("kind", "value", "made"),
    [
        (Any, {"a": 1}, {"a": 1}),
        (None, None, None),
        (int, 3, 3),
        (float, 3, 3.0),
        (int | str, "a", "a"),
        (int | None, None, None),
        (list[Point], [{"x": 1}], [Point(1)]),
        (Sequence[int], [1, 2], [1, 2]),
        (tuple[int, ...], [1, 2], (1, 2)),
        (Mapping[str, Point], {"a": {"x": 1}}, {"a": Point(1)}),
        (Annotated[int, "a note"], 3, 3),
        (set[int], [1, 2], [1, 2]),
        (dict, {"a": 1}, {"a": 1}),
        (Checked, {"even": 2, "unknown": 3}, Checked(2)),
        (Color, "red", Color.RED),
    ],
)
def test_json_data_becomes_what_annotations_say(kind: Any, value: Any, made: Any) -> None:
    found = of_user(kind, value)
    assert found == made
    assert type(found) is type(made)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (None, 1),
        (int, True),
        (int, 1.5),
        (str, 1),
        (int | str, []),
        (list[int], {}),
        (dict[str, int], {"a": "b"}),
        (Mapping[str, int], []),
        (Literal[1], True),
        (Literal["a"], "b"),
        (Color, "green"),
        (Checked, {"even": 1}),
        (Annotated[int, "a note"], "a"),
    ],
)
def test_json_data_that_is_not_what_annotations_say_is_refused(kind: Any, value: Any) -> None:
    with pytest.raises(acp.ValidationError):
        of_user(kind, value)


def test_a_type_for_a_method_of_the_protocol_is_refused_when_it_is_given() -> None:
    agent = v2.Agent()
    with pytest.raises(TypeError, match="type of the protocol"):
        agent.on_request("session/prompt", params=Point)
    for wrong in ("session/request_permission", "elicitation/create"):
        with pytest.raises(TypeError, match="no request that the agent handles"):
            agent.on_request(wrong)
    with pytest.raises(TypeError):
        v1.Client().on_notification(v1.schema.PromptRequest)
