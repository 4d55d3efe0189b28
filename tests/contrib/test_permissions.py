"""`PermissionBroker`: how a permission request is put together."""

from __future__ import annotations

import copy
from typing import Any

import anyio
import pytest

import acp
from acp.contrib.permissions import (
    MissingToolCallError,
    PermissionBroker,
    PermissionBrokerError,
    default_permission_options,
)
from acp.contrib.tool_calls import ToolCallTracker
from acp.schema import (
    AllowedOutcome,
    PermissionOption,
    RequestPermissionRequest,
    RequestPermissionResponse,
    ToolCallUpdate,
)
from tests.raw_peer import BOUND

SHOWN = [acp.tool_content(acp.text_block("shown"))]
OTHER = [acp.tool_content(acp.text_block("other"))]
ASKED = acp.tool_content(acp.text_block("may I?"))
OPTION = PermissionOption(option_id="o", name="O", kind="allow_once")


class Requester:
    """Answers with the first option, and may spoil the request before."""

    def __init__(self) -> None:
        self.requests: list[RequestPermissionRequest] = []

    async def __call__(self, request: RequestPermissionRequest) -> RequestPermissionResponse:
        self.requests.append(copy.deepcopy(request))
        answer = RequestPermissionResponse(
            outcome=AllowedOutcome(option_id=request.options[0].option_id)
        )
        for option in request.options:
            option.option_id = option.name = "spoilt"
        request.tool_call.title = "spoilt"
        for item in request.tool_call.content or ():
            item.content.text = "spoilt"  # type: ignore[union-attr]
        request.options.clear()
        return answer


def tracked(**members: Any) -> ToolCallTracker:
    tracker = ToolCallTracker(id_factory=lambda: "id")
    tracker.start("x", title="t", **members)
    return tracker


async def asked(broker: PermissionBroker, *args: Any, **members: Any) -> Any:
    with anyio.fail_after(BOUND):
        return await broker.request_for(*args, **members)


async def test_a_request_tells_what_the_tracker_knows_and_returns_the_answer() -> None:
    requester, tracker = Requester(), tracked(content=SHOWN, kind="edit")
    answer = await asked(PermissionBroker("s", requester, tracker=tracker), "x")
    assert answer.outcome.option_id == "approve"
    (request,) = requester.requests
    assert request == RequestPermissionRequest(
        session_id="s",
        tool_call=tracker.tool_call_model("x"),
        options=list(default_permission_options()),
    )


@pytest.mark.parametrize(
    ("known", "given", "described", "shown"),
    [
        (None, None, False, None),
        (None, None, True, [ASKED]),
        (SHOWN, None, True, [*SHOWN, ASKED]),
        (SHOWN, OTHER, False, OTHER),
        (SHOWN, OTHER, True, [*OTHER, ASKED]),
        (SHOWN, (), False, []),
        (SHOWN, (), True, [ASKED]),
    ],
)
@pytest.mark.parametrize("by_tracker", [True, False])
async def test_content_takes_the_place_of_the_calls_and_the_description_comes_last(
    known: Any, given: Any, described: bool, shown: Any, by_tracker: bool
) -> None:
    requester, tracker = Requester(), tracked(content=known)
    call = None if by_tracker else ToolCallUpdate(tool_call_id="id", title="t", content=known)
    broker = PermissionBroker("s", requester, tracker=tracker if by_tracker else None)
    description = "may I?" if described else None
    for _ in range(2):
        await asked(broker, "x", description=description, content=given, tool_call=call)
    for request in requester.requests:
        assert request.tool_call.content == shown
        assert request.tool_call.title == "t"


@pytest.mark.parametrize("own", [None, [OPTION]])
@pytest.mark.parametrize("given", [None, (), (OPTION,)])
async def test_options_are_those_given_else_the_brokers_else_the_default(
    own: Any, given: Any
) -> None:
    requester = Requester()
    broker = PermissionBroker("s", requester, tracker=tracked(), default_options=own)
    for _ in range(2):
        await asked(broker, "x", options=given)
    expected = [OPTION] if own or given else list(default_permission_options())
    assert [request.options for request in requester.requests] == [expected] * 2


async def test_nothing_that_was_given_is_changed_by_who_gets_the_request() -> None:
    requester, tracker = Requester(), tracked(content=SHOWN)
    call = ToolCallUpdate(tool_call_id="id", title="t", content=copy.deepcopy(SHOWN))
    before = copy.deepcopy(call), copy.deepcopy(SHOWN), copy.deepcopy(OPTION)
    broker = PermissionBroker("s", requester, tracker=tracker, default_options=[OPTION])
    await asked(broker, "x", tool_call=call)
    await asked(broker, "x", content=SHOWN, options=[OPTION], description="d")
    await asked(broker, "x")
    assert (call, SHOWN, OPTION) == before
    assert tracker.view("x").content == tuple(SHOWN)
    assert requester.requests[2].options == [OPTION]


async def test_a_call_is_needed_from_the_tracker_or_the_request() -> None:
    requester = Requester()
    with pytest.raises(MissingToolCallError, match="tool_call=") as caught:
        await asked(PermissionBroker("s", requester), "x")
    assert isinstance(caught.value, PermissionBrokerError)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(KeyError, match="unknown"):
        await asked(PermissionBroker("s", requester, tracker=tracked()), "unknown")
    assert not requester.requests


async def test_what_the_requester_raises_comes_out() -> None:
    async def refusing(request: RequestPermissionRequest) -> RequestPermissionResponse:
        raise acp.RequestError.method_not_found("session/request_permission")

    with pytest.raises(acp.RequestError):
        await asked(PermissionBroker("s", refusing, tracker=tracked()), "x")


def test_the_default_options_are_new_objects_each_time() -> None:
    first, second = default_permission_options(), default_permission_options()
    assert first == second
    assert [option.kind for option in first] == ["allow_once", "allow_always", "reject_once"]
    assert not {id(option) for option in first} & {id(option) for option in second}
