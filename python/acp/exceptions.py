"""Errors that users meet.

Owns the exception classes of the public surface. It does not decide which exception becomes which
wire error (that is `acp._errors`) and knows no connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp._core import InternalError, LocalProtocolError, ValidationError

if TYPE_CHECKING:
    from acp._termination import Termination

__all__ = (
    "ConnectionClosed",
    "InternalError",
    "LocalProtocolError",
    "RemoteProtocolError",
    "RequestError",
    "RequestTimeout",
    "SessionClosed",
    "StreamOverflow",
    "UnsupportedByPeer",
    "ValidationError",
    "VersionMismatch",
)


class RequestError(Exception):
    """A JSON-RPC error: a handler raises it as its answer, a call raises it as the peer's answer.

    Args:
        code: The JSON-RPC error code.
        message: One short sentence.
        data: Any JSON value with details, or None for no details.
    """

    def __init__(self, code: int, message: str, data: Any | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses have constructors of their own.
        return _restored, (type(self), self.args), vars(self)

    @classmethod
    def parse_error(cls, data: dict[str, Any] | None = None) -> RequestError:
        """-32700: the frame was not JSON."""
        return cls(-32700, "Parse error", data)

    @classmethod
    def invalid_request(cls, data: dict[str, Any] | None = None) -> RequestError:
        """-32600: the request is not allowed, or not allowed now."""
        return cls(-32600, "Invalid request", data)

    @classmethod
    def method_not_found(cls, method: str) -> RequestError:
        """-32601: `method` is not served here; its name goes into the data."""
        return cls(-32601, "Method not found", {"method": method})

    @classmethod
    def invalid_params(cls, data: dict[str, Any] | None = None) -> RequestError:
        """-32602: the params do not fit the method."""
        return cls(-32602, "Invalid params", data)

    @classmethod
    def internal_error(cls, data: dict[str, Any] | None = None) -> RequestError:
        """-32603: the handler failed."""
        return cls(-32603, "Internal error", data)

    @classmethod
    def auth_required(cls, data: dict[str, Any] | None = None) -> RequestError:
        """-32000: the client has to authenticate first."""
        return cls(-32000, "Authentication required", data)

    @classmethod
    def resource_not_found(cls, uri: str | None = None) -> RequestError:
        """-32002: there is no such resource; `uri`, when given, goes into the data."""
        return cls(-32002, "Resource not found", None if uri is None else {"uri": uri})

    @classmethod
    def session_not_found(cls, session_id: str) -> RequestError:
        """-32002: there is no such session; its id goes into the data."""
        return cls(-32002, "Resource not found", {"sessionId": session_id})

    @classmethod
    def request_cancelled(cls, data: dict[str, Any] | None = None) -> RequestError:
        """-32800: the request was cancelled by the side that made it."""
        return cls(-32800, "Request cancelled", data)

    @classmethod
    def mcp_limit_reached(cls, data: Any | None = None) -> RequestError:
        """-33000: a limit of MCP over ACP is reached, such as that of active requests."""
        return cls(-33000, "MCP resource limit reached", data)

    @classmethod
    def mcp_server_unavailable(cls, data: Any | None = None) -> RequestError:
        """-33001: nobody serves the MCP server that a message is for."""
        return cls(-33001, "MCP server registration unavailable", data)

    @classmethod
    def mcp_backend_failed(cls, data: Any | None = None) -> RequestError:
        """-33002: an MCP server ended, or could not be reached, without a valid answer."""
        return cls(-33002, "MCP backend failed", data)

    def to_error_obj(self) -> dict[str, Any]:
        """The members of the JSON-RPC error object: code, message and data (None when there is
        none). What a handler raises is answered with these, also where a subclass has others.
        """
        return {"code": self.code, "message": str(self), "data": self.data}


def _restored(kind: type[RequestError], arguments: tuple[Any, ...]) -> RequestError:
    exc = kind.__new__(kind)
    exc.args = arguments
    return exc


class VersionMismatch(RequestError):
    """The two sides have no protocol version in common; the connection is of no use.

    Use a client of the version that the agent speaks, or `acp.negotiation.ClientConnector`.
    """

    def __init__(
        self,
        code: int,
        message: str,
        data: Any | None = None,
        *,
        selected: int | None = None,
        supported: tuple[int, ...] = (),
        response: Any = None,
    ) -> None:
        super().__init__(code, message, data)
        self.selected = selected
        """The version that the agent has answered with; None when it has refused."""
        self.supported = supported or (() if selected is None else (selected,))
        """The versions that the agent is known to speak."""
        self.response = response
        """The whole answer of an agent that has selected another version, as JSON (a dict), for
        `InitializeResponse.model_validate` of that version; None when it has refused.
        """

    def __str__(self) -> str:
        known = ", ".join(map(str, self.supported)) or "unknown"
        return f"{self.message}: the agent speaks protocol version {known}"


class ConnectionClosed(ConnectionError):
    """The connection has ended: a call will not be answered, or a message can no longer be sent.

    Open a new connection to go on. `exit_code` and `stderr_tail` are set when the peer was a
    process that this side started: its exit code (None while it runs) and the last 64 KiB that it
    wrote to stderr. `termination` tells how the connection has ended, as far as it was known then;
    this side makes it, whatever a peer sends. `__cause__` is the error that it ended with.
    """

    def __init__(
        self,
        message: str | None = None,
        *,
        exit_code: int | None = None,
        stderr_tail: str = "",
        termination: Termination | None = None,
    ) -> None:
        if message is None:
            message = "Connection closed; open a new connection to go on"
            if exit_code is not None:
                message = (
                    f"Connection closed: the process exited with code {exit_code}; start it anew"
                )
            if stderr_tail:
                message += " (what it last wrote to stderr is in `stderr_tail`)"
        super().__init__(message)
        self.termination = termination
        self.exit_code = exit_code
        self.stderr_tail = stderr_tail


class RequestTimeout(TimeoutError):
    """A request was not answered in its time; the peer was told that it is cancelled.

    Ask again, or with more time.
    """

    def __init__(self, method: str = "", seconds: float = 0.0) -> None:
        super().__init__(f"{method} was not answered within {seconds:g} s")
        self.method = method
        self.seconds = seconds

    def __reduce__(self) -> tuple[type[RequestTimeout], tuple[str, float]]:
        return type(self), (self.method, self.seconds)


class UnsupportedByPeer(RuntimeError):
    """The peer did not say that it can do this; nothing was sent.

    Look at `peer_supports` before, or send it with `unchecked=True`.
    """

    def __init__(self, method: str = "", capability: str = "") -> None:
        super().__init__(f"The peer does not offer {method}: it lacks the capability {capability}")
        self.method = method
        self.capability = capability

    def __reduce__(self) -> tuple[type[UnsupportedByPeer], tuple[str, str]]:
        return type(self), (self.method, self.capability)


class SessionClosed(RuntimeError):
    """The session of this handle was closed, or its id stands for another session by now; nothing
    was sent.

    Open a session (`new_session`, or `resume_session` with the id), and use the handle that this
    gives. `session_id` is the id.
    """

    def __init__(self, session_id: str = "") -> None:
        super().__init__(
            "The session of this handle is closed: open it again, or a new one, and use that handle"
        )
        self.session_id = session_id

    def __reduce__(self) -> tuple[type[SessionClosed], tuple[str]]:
        return type(self), (self.session_id,)


class StreamOverflow(RuntimeError):
    """Messages of a session came faster than they were read, and some are lost.

    Read them faster, give the stream a larger `buffer`, or say what else is to happen:
    `when_full="wait"` or `when_full="drop_oldest"`.
    """

    def __init__(self) -> None:
        super().__init__(
            "Messages of the session came faster than they were read: read faster, or give the "
            "stream a larger buffer or another when_full"
        )


class RemoteProtocolError(RuntimeError):
    """The peer broke the protocol, for example with an answer that is neither a result nor an
    error.
    """
