"""The typed faces of endpoints and connections.

Owns: `python/acp/v*/_handlers.py`, `python/acp/v*/_requests.py`.
Must not know: what params and results hold, or how a handler is called.
"""

from __future__ import annotations

from codegen.layout import MARK, WIDTH, wrap
from codegen.methods import types
from codegen.model import Method, Version

SIDES = ("agent", "client")


def files(versions: list[Version]) -> dict[str, str]:
    """Both modules of each version."""
    out: dict[str, str] = {}
    for version in versions:
        out[f"python/acp/v{version.number}/_handlers.py"] = handlers(version)
        out[f"python/acp/v{version.number}/_requests.py"] = requests(version)
    return out


def of_side(version: Version, side: str, kind: str = "") -> list[Method]:
    """The methods that a side handles itself."""
    return [m for m in version.methods if m.side == side and kind in ("", m.kind)]


def handlers(version: Version) -> str:
    """The module with a decorator for each method."""
    number = version.number
    lines = [
        f'"""Decorators for the handlers of each method of protocol version {number}.',
        "",
        MARK,
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Awaitable, Callable",
        "from typing import TYPE_CHECKING, Any, TypeVar, overload",
        "",
        "from acp._endpoint.endpoint import Endpoint",
        "",
        "if TYPE_CHECKING:",
        "    from acp._endpoint.handlers import Unhandled",
        f"    from acp.v{number} import schema",
        f"    from acp.v{number}._endpoint import Connection, Context",
        "",
        '__all__ = ("AgentHandlers", "ClientHandlers")',
        "",
        'P = TypeVar("P")',
        'R = TypeVar("R")',
        'T = TypeVar("T")',
        "",
        "if TYPE_CHECKING:",
        "    Answer = R | Awaitable[R | Unhandled | None] | Unhandled | None",
        "    Handles = Callable[[P], Answer[R]] | Callable[[P, Context], Answer[R]]",
        "    Notes = (",
        "        Callable[[P], Awaitable[Unhandled | None] | Unhandled | None]",
        "        | Callable[[P, Context], Awaitable[Unhandled | None] | Unhandled | None]",
        "    )",
        "    ForRequest = Callable[[Handles[P, R]], Handles[P, R]]",
        "    ForNotification = Callable[[Notes[P]], Notes[P]]",
        "    Typed = Endpoint[Connection]",
        "else:",
        "    Typed = Endpoint",
    ]
    for side in SIDES:
        lines += [
            "",
            "",
            f"class {side.capitalize()}Handlers(Typed):",
            f'    """What the {side} handles: each method decorates the handler of one."""',
            "",
            f'    side = "{side}"',
        ]
        for method in of_side(version, side):
            lines += decorator(version, method)
        lines += ["", "    if TYPE_CHECKING:", ""]
        lines += [*by_type(version, side, "request"), "", *by_type(version, side, "notification")]
    return "\n".join([*lines, ""])


def decorator(version: Version, method: Method) -> list[str]:
    """One decorator."""
    params, result = types(version, method)
    handles = f"Handles[schema.{params}, schema.{result}]" if result else f"Notes[schema.{params}]"
    state = "" if method.stable else " (unstable)"
    gets = f", which returns {article(result)}" if result else ""
    lines = wrap(f'"""The handler of `{method.wire}`{state}{gets}."""', " " * 8)
    text = "\n".join(lines)
    if len(lines) > 1:
        text = text.removesuffix('"""') + f'\n{" " * 8}"""'
    return [
        "",
        *function(method.name, ["self", f"handler: {handles}"], handles, "    ", ":"),
        text,
        f'        return self.handle("{method.kind}", "{method.wire}", handler)',
    ]


def by_type(version: Version, side: str, kind: str) -> list[str]:
    """The overloads of `on_request` or `on_notification`."""
    name = f"on_{kind}"
    lines: list[str] = []
    for method in of_side(version, side, kind):
        params, result = types(version, method)
        typed = f"schema.{params}, schema.{result}" if result else f"schema.{params}"
        lines += decorating(name, [f"message: type[schema.{params}]"], typed)
    of_user, of_any = ("T, Any", "Any, Any") if kind == "request" else ("T", "Any")
    lines += decorating(name, ["message: str", "params: Callable[..., T]"], of_user)
    lines += decorating(name, ["message: str", "params: Any = None"], of_any)
    return [*lines, f"        def {name}(self, message: Any, params: Any = None) -> Any: ..."]


def decorating(name: str, items: list[str], typed: str) -> list[str]:
    """One overload of what gives a decorator."""
    result = f"{'ForRequest' if name == 'on_request' else 'ForNotification'}[{typed}]"
    return ["        @overload", *function(name, ["self", *items], result, "        ", ": ...")]


def function(name: str, items: list[str], result: str, indent: str, end: str) -> list[str]:
    """The head of a function, as the formatter writes it."""
    line = f"{indent}def {name}({', '.join(items)}) -> {result}{end}"
    if len(line) <= WIDTH:
        return [line]
    inner = f"{indent}    {', '.join(items)}"
    parts = [inner]
    if len(inner) > WIDTH:
        parts = [line for item in items for line in parameter(item, f"{indent}    ")]
    last = [f"{indent}) -> {result}{end}"]
    if len(last[0]) > WIDTH:
        head, arguments = result.rstrip("]").split("[", 1)
        last = [f"{indent}) -> {head}[", f"{indent}    {arguments}", f"{indent}]{end}"]
    return [f"{indent}def {name}(", *parts, *last]


def parameter(item: str, indent: str) -> list[str]:
    """One parameter on a line of its own, or, if it is too long, in three."""
    if len(f"{indent}{item},") <= WIDTH:
        return [f"{indent}{item},"]
    head, inner = item.rstrip("]").split("[", 1)
    return [f"{indent}{head}[", f"{indent}    {inner}", f"{indent}],"]


def article(name: str | None) -> str:
    """A name of a type with its article."""
    return f"an {name}" if name and name[0] in "AEIOU" else f"a {name}"


def requests(version: Version) -> str:
    """The module with an overload for each request."""
    number = version.number
    lines = [
        f'"""The requests of protocol version {number} with their results, for type checkers.',
        "",
        MARK,
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import TYPE_CHECKING, Any, TypeVar, overload",
        "",
        "from acp._endpoint.connection import Connection",
        "",
        "if TYPE_CHECKING:",
        "    from collections.abc import Callable",
        "",
        "    from acp._endpoint.sent import PreparedRequest, SentRequest",
        f"    from acp.v{number} import schema",
        "",
        '__all__ = ("TypedConnection",)',
        "",
        'T = TypeVar("T")',
        "",
        "",
        "class TypedConnection(Connection):",
        f'    """A connection that knows the types of version {number}."""',
        "",
        "    if TYPE_CHECKING:",
        "",
    ]
    for name, handle in (("request", "SentRequest"), ("prepare", "PreparedRequest")):
        for side in SIDES:
            for method in of_side(version, side, "request"):
                params, result = types(version, method)
                typed = f"{handle}[schema.{result}]"
                lines += overload(name, [f"message: schema.{params}", "*"], typed)
        named = ["message: str", "params: Any = None"]
        lines += overload(name, [*named, "*", "result: Callable[..., T]"], f"{handle}[T]")
        lines += overload(name, [*named, "*"], f"{handle}[Any]")
        lines += [
            f"        def {name}(self, *arguments: Any, **options: Any) -> Any: ...",
            "",
        ]
    return "\n".join(lines)


def overload(name: str, items: list[str], result: str) -> list[str]:
    """One overload."""
    options = ["timeout: float | None = None", "unchecked: bool = False"]
    items = ["self", *items, *options]
    return ["        @overload", *function(name, items, result, "        ", ": ...")]
