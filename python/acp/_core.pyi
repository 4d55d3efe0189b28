"""The Rust core: protocol state of one connection, and the typed objects of the schema.

Nothing here does I/O, reads a clock, starts a thread or logs. Bytes go in, events come out, bytes
to send are taken.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import Context, ContextVar
from types import CoroutineType
from typing import Any, ClassVar, Final, Literal, final

from typing_extensions import Self, disjoint_base

__version__: Final[str]
SCHEMA_HASH: Final[str]
"""Digest of the facts in `schema/` that the tables come from; the Python modules carry it too."""

@final
class UnsetType:
    """Type of `UNSET`: what a three-state field is that is absent (neither null nor a value)."""

    def __bool__(self) -> Literal[False]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: object = None, /) -> Self: ...

UNSET: Final[UnsetType]

@disjoint_base
class ValidationError(ValueError):
    """A value does not fit its type. `str()` names places and rules, never the value.

    Made of the name of the type that was expected and of what `errors()` is to return.
    """

    def __new__(  # pyright: ignore[reportInconsistentConstructor] (exceptions take any arguments)
        cls, title: str = "", errors: Iterable[Mapping[str, Any]] | None = None
    ) -> Self: ...
    @property
    def title(self) -> str:
        """The name of the type that was expected."""
    def error_count(self) -> int:
        """The number of faults."""
    def errors(self) -> list[dict[str, Any]]:
        """One dict per fault: `loc`, `type`, `message`.

        `loc` is a tuple of member names and indices; keys of maps stand as `*`.
        """

class InternalError(RuntimeError):
    """The core failed, a fault of this library; the connection it happened on has to be closed."""

class LocalProtocolError(RuntimeError):
    """This side used the connection in a way that the protocol does not allow; nothing was sent."""

    code: int
    """That of the same fault on the wire: -32600, or -32602 for params."""

@disjoint_base
class Model:
    """Base of every schema object: members are slots that the decoder fills directly."""

    def __init__(self, /, **members: Any) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # pyright: ignore[reportIncompatibleMethodOverride]
    def __iter__(self) -> Iterator[tuple[str, Any]]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: dict[int, Any] | None = None, /) -> Self: ...
    def __setattr__(self, name: str, value: Any, /) -> None: ...
    @property
    def model_fields_set(self) -> set[str]: ...
    @property
    def model_extra(self) -> dict[str, Any] | None: ...
    @classmethod
    def model_validate(
        cls, obj: Any, *, from_attributes: bool | None = None, **options: Any
    ) -> Self: ...
    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self: ...
    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self: ...
    def model_copy(
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> Self: ...
    def model_dump(
        self,
        *,
        mode: str = "python",
        include: Any = None,
        exclude: Any = None,
        by_alias: bool | None = None,
        exclude_unset: bool = False,
        exclude_defaults: bool = False,
        exclude_none: bool = False,
        **options: Any,
    ) -> dict[str, Any]: ...
    def model_dump_json(
        self,
        *,
        indent: int | None = None,
        include: Any = None,
        exclude: Any = None,
        by_alias: bool | None = None,
        exclude_unset: bool = False,
        exclude_defaults: bool = False,
        exclude_none: bool = False,
        **options: Any,
    ) -> str: ...

    # For users' classes with fields of their own, see `acp._schema.extended`.
    _marks: int
    """The fields that were set, one bit each; those of the class itself begin with the lowest."""

    def _fill_unchecked(self, values: Mapping[str, Any]) -> None:
        """Takes members as they are."""

def register(
    version: int, schema_hash: str, classes: Sequence[type[Model]], *, former: bool = False
) -> None:
    """Makes `classes` the objects of protocol `version`, in the order of the version's records.

    With `former` they are those that only former releases have, which are registered by themselves.

    Checks each slot (object member, writable, inside the instance) and that `schema_hash` is the
    core's own.
    Raises ImportError when the generated modules and the extension were built from different facts.
    """

def fault_kinds() -> list[tuple[str, str]]:
    """The rules that a value can break: `type` and `message` as `ValidationError.errors()` has."""

def field_facts(cls: type[Model]) -> list[tuple[str, str, bool, Any]]:
    """Name, wire name, whether it is required, and default of each field of a schema class.

    Constant discriminators come last. The default of a required field is None.
    """

def field_rules(
    cls: type[Model],
) -> tuple[list[tuple[int | None, int | None, bool, bool]], bool]:
    """What annotations do not tell, for each field: least and greatest value, whether what does not
    fit reads as absent, whether bad items are dropped. Then whether the class keeps other members.
    """

def validated(cls: type[Any], obj: Any) -> Any:
    """`cls.model_validate`, whose exception is ValidationError also where pydantic is used."""

def pydantic_in_use() -> bool:
    """Whether the program has imported pydantic."""

def decode(
    version: int,
    type_name: str,
    data: bytes | str,
    *,
    lax: bool = False,
    unknown_values: Literal["raise", "keep"] = "raise",
) -> Any:
    """Decodes JSON text as the schema type `type_name`. Raises ValidationError.

    With `unknown_values="keep"` a string that no enum knows is kept, and an object whose
    discriminator no variant of its union has, and no catch-all is for, is a dict.
    """

def encode(
    value: Any, *, version: int = 1, type_name: str | None = None, keep_defaults: bool = True
) -> bytes:
    """The compact JSON text of a schema object or of plain JSON data.

    With `type_name`, as a value of that type of `version`, and an object of the other version has
    no form wherever a type is expected: TypeError. Without it, objects are written as their own
    version has them. Without `keep_defaults`, members that were set to their default are left out,
    as the reference implementation of the schema does. Raises ValidationError for what JSON has no
    form for, ValueError beyond 1,024 levels of nesting.
    """

def requested_version(params: bytes | str) -> int | None:
    """The version that params of `initialize` ask for; None when it cannot be read.

    `params` is JSON text. Raises ValidationError when it is none.
    """

def choose_version(requested: int, configured: Sequence[int]) -> int | None:
    """The highest of the versions `configured` that is not above the one requested, if any.

    Version 1 serves those that ask for less, too.
    """

def initialize_params(version: int, params: bytes | str) -> bytes:
    """Params of `initialize`, JSON text, in the form that a handler of `version` reads.

    They stay as they are where they ask for that version; of a later one what has a meaning in this
    one is kept. Raises ValidationError when they do not fit, ValueError when they ask for no
    version, or for one that `version` does not stand in for.
    """

def unsupported_protocol_version(
    requested: int, supported: Sequence[int]
) -> tuple[int, str, dict[str, Any]]:
    """-32022, message and data for a client that asks for a version below all that are served."""

@final
class RequestReceived:
    """A request of the peer. It has to be answered exactly once, through its `token`."""

    token: int
    id: int | str | None
    method: str
    lane: str | None
    """`params.sessionId`, or None."""
    peer: Literal["counterpart", "successor"]
    size: int
    """Bytes of the frame's part."""
    def params(self) -> Any:
        """The params as the method's type. Raises ValidationError.

        Plain JSON data for a method that the schema does not know.
        """
    def raw_params(self) -> bytes | None:
        """The JSON text of the params as received; None when absent."""

@final
class NotificationReceived:
    """A notification of the peer."""

    token: int | None
    """Set inside a batch: `Connection.handled(token)` tells that the handler is done."""
    method: str
    lane: str | None
    peer: Literal["counterpart", "successor"]
    size: int
    def params(self) -> Any: ...
    def raw_params(self) -> bytes | None: ...

@final
class ResponseReceived:
    """The answer to a request of ours."""

    id: int
    method: str
    outcome: Literal["result", "error", "mismatch"]
    """`mismatch`: an `initialize` that succeeded with another version than the connection's, which
    stays uninitialized; `raw_result()` has the answer. So it does where the success does not fit
    its type, which is a `result` that raises when it is read.
    """
    selected: int | None
    """That other version."""
    lane: str | None
    """`result.sessionId`, or None."""
    size: int
    def result(self) -> Any:
        """The result as the method's type, for the outcome `result`. Raises ValidationError."""
    def raw_result(self) -> bytes | None: ...
    def error(self) -> tuple[int, str, Any]:
        """Code, message and data (None when absent), for the outcomes `error` and `mismatch`."""

@final
class ResponseRejected:
    """An answer to a request of ours that could not be read. The request is settled by it."""

    id: int
    method: str
    lane: None
    reason: str
    """As of `FrameRejected`."""
    size: int
    head: bytes
    """As of `FrameRejected`."""

@final
class RequestCancelled:
    """The peer cancelled a request that is not answered yet."""

    token: int
    id: int | str | None

@final
class FrameRejected:
    """A frame, or an entry of a batch, that is no message."""

    reason: str
    """parse, depth, size, utf8, envelope, duplicate, batch, response, id, error, cancel."""
    answered: bool
    code: int | None
    """The code of an error of the peer's with a null id, which is the reason `error`."""
    size: int
    head: bytes
    """The first of its bytes, as many as the connection shows."""

@disjoint_base
class HandlerRun:
    """One call of a handler, from its first step to its end."""

    def __new__(cls, owner: object, event: Event, route: Any) -> Self: ...
    @property
    def owner(self) -> object:
        """The dispatcher that started it."""
    @property
    def event(self) -> Any:
        """The message that it handles."""
    @property
    def route(self) -> Any:
        """The route that chose the handler, or None."""
    calls: int
    """Unanswered requests and blocked sends that its code waits for, on the same connection."""
    lane: Any
    """The lane that it keeps, or None."""
    closing: bool
    """It waits for the connection to close, and is not cancelled by that."""
    unread: bool
    """Its params could not be decoded, so that it did not start."""
    suspended: Any
    """What drives it on, or None."""

Left = tuple[CoroutineType[Any, Any, Any], Context, object]
"""What a handler left that did not end in its first step: body, context, what it waits for."""

@final
class Steps:
    """Takes the first steps of one connection's handlers, and tells when other tasks are due.

    Each step runs in a copy of the current context, in which `mark` is set to its run.

    `direct` maps the methods of notifications to pairs of a route and the function that calls the
    handler with the params; `kept` has the keys of the lanes that are kept; `finish` makes a
    coroutine of an awaitable that is none. Other tasks are due after `most` steps or `longest`
    seconds.
    """

    def __new__(
        cls,
        owner: object,
        direct: dict[str, tuple[Any, Callable[[Any], Any]]],
        kept: dict[str | None, Any],
        mark: ContextVar[Any],
        finish: Callable[[Any], CoroutineType[Any, Any, Any]],
        *,
        most: int,
        longest: float,
    ) -> Self: ...
    def run(
        self, events: list[Event], at: int, /
    ) -> tuple[int, HandlerRun | None, Left | BaseException | None]:
        """Has `events` handled from index `at` on.

        Returns the index of the next one. It stops before one that is no notification in `direct`,
        is of a kept lane, or has a token; when other tasks are due; and behind one whose handler
        did not simply end: its run is the second item, and the third what it left, or what it
        raised.
        """
    def first(
        self, run: HandlerRun, function: Callable[[Any], Any], argument: object, /
    ) -> Left | None:
        """Calls `function` with `argument` and takes the first step of what it returns.

        None when it ended in that. Raises what it raised.
        """
    def tick(self) -> bool:
        """Counts a step that was taken elsewhere. Whether other tasks are due."""
    @property
    def spent(self) -> bool:
        """Whether other tasks are due."""
    def renew(self) -> None:
        """They had their turn."""

Event = (
    RequestReceived
    | NotificationReceived
    | ResponseReceived
    | ResponseRejected
    | RequestCancelled
    | FrameRejected
)

@final
class Connection:
    """All protocol state of one connection.

    With `guard`, `initialize` follows the rules of `version`: an agent reads params in the form of
    that version and its answer names it; a client asks for it and takes no other. Version 2 lets
    nothing else pass before that: requests of the peer are refused, its notifications ignored, and
    `request` and `notify` raise LocalProtocolError. It is repeated until another request is
    accepted, or not at all without `allow_reinitialize`. On version 1 an agent refuses requests
    before it with `require_initialize`. Without `guard` it is a method like any other.

    `lax` is the compatibility profile: looser integers, also as version; a client of version 1
    sends its `initialize` as it is, and takes any answer.

    `unknown_values`: as for `decode`. `observer`, held weakly, is told what was left out while
    params or a result are decoded, by `skipped(method, part, count, places, size, head)`: `part` is
    which of the two, `places` a ValidationError with a fault for each of the first 64, `size` that
    of the text. `shown_bytes`: most bytes of what is no message, and of such texts, that are shown.
    """

    def __new__(
        cls,
        role: Literal["agent", "client"],
        *,
        version: int = 1,
        batches: Literal["accept", "reject"] = "accept",
        require_initialize: bool = False,
        allow_reinitialize: bool = True,
        guard: bool = True,
        lax: bool = False,
        unknown_values: Literal["raise", "keep"] = "raise",
        observer: object | None = None,
        shown_bytes: int = 0,
        max_message_bytes: int = 67108864,
        max_batch_entries: int = 1024,
    ) -> Self: ...
    def receive(self, data: bytes) -> list[Event]:
        """Takes a chunk of a byte stream of newline-separated frames."""
    def receive_frame(self, data: bytes) -> list[Event]:
        """Takes one whole frame of a transport that keeps frames apart."""
    def end_of_input(self) -> list[Event]:
        """Tells that no more input comes; a last line without a newline is handled."""
    def request(self, method: str, params: Any = None) -> int:
        """Queues a request and returns its id.

        `params`: a schema object, plain JSON data (object or array), or None. Those of `initialize`
        are made to ask for the connection's version, and have to fit it. Raises LocalProtocolError
        for what the rules of initialization do not allow now, TypeError for an object of the other
        version where this one has a type, and as the params of a method that is not in the
        protocol's tables and no extension: nothing is queued then.
        """
    def notify(self, method: str, params: Any = None) -> None:
        """Queues a notification; see `request`."""
    def cancel(self, request_id: int) -> bool:
        """Queues `$/cancel_request` for a pending request of ours, once.

        False when it is not pending or was cancelled before.
        """
    def forget(self, request_id: int) -> bool:
        """Gives up a pending request: its answer will be swallowed."""
    def respond(self, token: int, result: Any) -> bool:
        """Queues the answer of a request. False when it was answered before.

        Raises when `result` cannot be written, as `request` does; the request stays open. Where one
        of `initialize` does not fit, the answer is an internal error, and ValidationError (not with
        `lax`) tells.
        """
    def respond_error(self, token: int, code: int, message: str, data: Any = ...) -> bool:
        """Queues an error answer. `data` left out: no such member."""
    def forward(self, token: int, answer: ResponseReceived) -> bool:
        """Queues an answer of the peer, as it was received, as the answer of a request.

        False when that was answered before, or the peer's could not be read.
        """
    def unhandled(self, event: RequestReceived) -> tuple[int, str, Any]:
        """Code, message and data (None when absent) for a request that nobody serves.

        -32601; for `mcp/message` -33001, to cancel tool calls or terminals of version 2 -32602.
        """
    def _fail(self) -> None:
        """Makes the core fail, to test that this ends the one connection."""
    def handled(self, token: int) -> None:
        """Tells that the handler of a batched notification is done."""
    def admit(self, token: int) -> bool:
        """Whether a received request may be served now.

        Where requests before `initialize` are refused, one that came while that was unanswered
        counts only once it has succeeded: asked earlier, or after it failed, this refuses the
        request, which is answered by that.
        """
    def take_output(self) -> bytes:
        """The queued bytes: whole frames, each ending in a newline."""
    def abandon_output(self) -> None:
        """Drops what is queued, and replies that wait for others of their batches."""
    @property
    def output_size(self) -> int: ...
    @property
    def held_replies(self) -> int:
        """Bytes of memory that replies take which wait for others of their batches."""
    @property
    def pending(self) -> list[tuple[int, str]]:
        """Id and method of each request of ours that waits for its answer."""
    @property
    def in_flight(self) -> int:
        """Requests of the peer that are not answered yet."""
    @property
    def initialized(self) -> bool: ...
    def counters(self) -> dict[str, int]:
        """What was seen so far, in numbers.

        Messages by kind, rejected frames by reason, answers that nobody awaits.
        """
