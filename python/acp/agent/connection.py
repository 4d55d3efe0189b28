"""The connection as an agent sees it: what it can ask of its client.

Owns the signatures and the params of each method. How a message travels is `acp._connection`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from acp._arguments import given
from acp._elicitation import elicitation_request
from acp._lazy import passing_on
from acp._old_forms import compatible_class, param_model
from acp._side import SideConnection
from acp.schema import (
    AcceptElicitationResponse,
    AgentMessageChunk,
    AgentPlanContentUpdate,
    AgentPlanRemovedUpdate,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AuthAccount,
    AuthState,
    AuthStatusUpdateNotification,
    AvailableCommandsUpdate,
    CancelElicitationResponse,
    CompleteElicitationNotification,
    ConfigOptionUpdate,
    CreateTerminalRequest,
    CreateTerminalResponse,
    CurrentModeUpdate,
    DeclineElicitationResponse,
    ElicitationMode,
    EnvVariable,
    KillTerminalRequest,
    KillTerminalResponse,
    PermissionOption,
    ReadTextFileRequest,
    ReadTextFileResponse,
    ReleaseTerminalRequest,
    ReleaseTerminalResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SessionInfoUpdate,
    SessionNotification,
    TerminalOutputRequest,
    TerminalOutputResponse,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    UsageUpdate,
    UserMessageChunk,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
    WriteTextFileRequest,
    WriteTextFileResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp.interfaces import Agent, Client

__all__ = ["AgentSideConnection"]

if not TYPE_CHECKING:
    __getattr__ = passing_on(
        __name__,
        "acp.schema",
        "acp.utils",
        "acp.interfaces",
        "acp.agent.router",
        "acp.connection",
        "acp.meta",
        "acp._transport",
    )


@final
@compatible_class
class AgentSideConnection(SideConnection):
    """Serves an agent and lets it reach its client.

    Args:
        to_agent: The agent, or a function that makes it from this connection.
        input_stream: The client's input: a StreamWriter, or one transport of this package for both
            directions.
        output_stream: The client's output: a StreamReader.
        listening: Whether to serve at once, in a task of its own; otherwise `listen()` does.
        use_unstable_protocol: Whether unstable methods reach the agent.
        **connection_kwargs: The fields of `ConnectionOptions`; `observers`, functions that get a
            `acp.connection.StreamEvent` for each message that comes or goes; `receive_timeout`,
            seconds that the client may be silent before the connection ends.

    Every method takes further keywords as the message's `_meta`. A method that returns a response
    raises RequestError when the client answers with an error, ConnectionClosed when no answer can
    come, ValidationError when something does not fit its type; cancelling it cancels the request.
    """

    def __init__(
        self,
        to_agent: Callable[[Client], Agent] | Agent,
        input_stream: Any,
        output_stream: Any = None,
        listening: bool = True,
        *,
        use_unstable_protocol: bool = False,
        **connection_kwargs: Any,
    ) -> None:
        super().__init__(
            "agent",
            to_agent,
            input_stream,
            output_stream,
            listening=listening,
            use_unstable_protocol=use_unstable_protocol,
            **connection_kwargs,
        )

    @param_model(SessionNotification)
    async def session_update(
        self,
        session_id: str,
        update: UserMessageChunk
        | AgentMessageChunk
        | AgentThoughtChunk
        | ToolCallStart
        | ToolCallProgress
        | AgentPlanUpdate
        | AgentPlanContentUpdate
        | AgentPlanRemovedUpdate
        | AvailableCommandsUpdate
        | CurrentModeUpdate
        | ConfigOptionUpdate
        | SessionInfoUpdate
        | UsageUpdate,
        **kwargs: Any,
    ) -> None:
        """`session/update`: tells what happened in a session.

        Updates arrive in the order of these calls.
        """
        params = SessionNotification(
            session_id=session_id, update=update, field_meta=kwargs or None
        )
        if self._connection.post("session/update", params):
            await self._connection.pause()

    @param_model(RequestPermissionRequest)
    async def request_permission(
        self,
        session_id: str,
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **kwargs: Any,
    ) -> RequestPermissionResponse:
        """`session/request_permission`: has the user choose one of `options` before a tool runs."""
        params = RequestPermissionRequest(
            session_id=session_id, tool_call=tool_call, options=options, field_meta=kwargs or None
        )
        return await self._connection.request("session/request_permission", params)

    @param_model(ReadTextFileRequest)
    async def read_text_file(
        self,
        session_id: str,
        path: str,
        line: int | None = None,
        limit: int | None = None,
        **kwargs: Any,
    ) -> ReadTextFileResponse:
        """`fs/read_text_file`: reads a file, from `line` (counted from 1) on and at most `limit`
        lines.
        """
        params = ReadTextFileRequest(
            session_id=session_id, path=path, line=line, limit=limit, field_meta=kwargs or None
        )
        return await self._connection.request("fs/read_text_file", params)

    @param_model(WriteTextFileRequest)
    async def write_text_file(
        self, session_id: str, path: str, content: str, **kwargs: Any
    ) -> WriteTextFileResponse | None:
        """`fs/write_text_file`: writes a whole file; `path` is absolute."""
        params = WriteTextFileRequest(
            session_id=session_id, path=path, content=content, field_meta=kwargs or None
        )
        return await self._connection.request("fs/write_text_file", params)

    @param_model(CreateTerminalRequest)
    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[EnvVariable] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **kwargs: Any,
    ) -> CreateTerminalResponse:
        """`terminal/create`: starts a command in a terminal of the client and returns at once.

        Of its output the last `output_byte_limit` bytes are kept.
        """
        params = CreateTerminalRequest(
            session_id=session_id,
            command=command,
            **given(args=args, env=env, cwd=cwd, output_byte_limit=output_byte_limit),
            field_meta=kwargs or None,
        )
        return await self._connection.request("terminal/create", params)

    @param_model(TerminalOutputRequest)
    async def terminal_output(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> TerminalOutputResponse:
        """`terminal/output`: what the command has written so far, and its exit status once it
        ended.
        """
        params = TerminalOutputRequest(
            session_id=session_id, terminal_id=terminal_id, field_meta=kwargs or None
        )
        return await self._connection.request("terminal/output", params)

    @param_model(ReleaseTerminalRequest)
    async def release_terminal(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> ReleaseTerminalResponse | None:
        """`terminal/release`: ends the command if it runs, and forgets the terminal."""
        params = ReleaseTerminalRequest(
            session_id=session_id, terminal_id=terminal_id, field_meta=kwargs or None
        )
        return await self._connection.request("terminal/release", params)

    @param_model(WaitForTerminalExitRequest)
    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> WaitForTerminalExitResponse:
        """`terminal/wait_for_exit`: returns when the command has ended."""
        params = WaitForTerminalExitRequest(
            session_id=session_id, terminal_id=terminal_id, field_meta=kwargs or None
        )
        return await self._connection.request("terminal/wait_for_exit", params)

    @param_model(KillTerminalRequest)
    async def kill_terminal(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> KillTerminalResponse | None:
        """`terminal/kill`: ends the command; the terminal and its output stay."""
        params = KillTerminalRequest(
            session_id=session_id, terminal_id=terminal_id, field_meta=kwargs or None
        )
        return await self._connection.request("terminal/kill", params)

    async def create_elicitation(
        self, message: str, mode: ElicitationMode, **kwargs: Any
    ) -> AcceptElicitationResponse | DeclineElicitationResponse | CancelElicitationResponse:
        """`elicitation/create`: asks the user for data, by a form or at an address.

        `mode` is an object or a mapping with `session_id` (and perhaps `tool_call_id`) or
        `request_id`, and with `requested_schema` for a form or `elicitation_id` and `url` for an
        address.
        """
        params = elicitation_request(message, mode, kwargs or None)
        return await self._connection.request("elicitation/create", params)

    @param_model(CompleteElicitationNotification)
    async def complete_elicitation(self, elicitation_id: str, **kwargs: Any) -> None:
        """`elicitation/complete`: what the user did at an address is done."""
        params = CompleteElicitationNotification(
            elicitation_id=elicitation_id, field_meta=kwargs or None
        )
        await self._connection.notify("elicitation/complete", params)

    async def auth_status_update(
        self,
        state: AuthState,
        accounts: list[AuthAccount] | None = None,
        **kwargs: Any,
    ) -> None:
        """`auth/status_update` (unstable): who is logged in has changed."""
        params = AuthStatusUpdateNotification(
            state=state, **given(accounts=accounts), field_meta=kwargs or None
        )
        await self._connection.notify("auth/status_update", params)

    def on_connect(self, conn: Agent) -> None:
        """Does nothing; it makes this class a `Client` for the agent."""
