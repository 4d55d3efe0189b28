"""The connection as an agent sees it: what it can ask of its client.

Owns the signatures and the params of each method. How a message travels is `acp._connection`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from acp import schema
from acp._arguments import given
from acp._elicitation import elicitation_request
from acp._side import SideConnection

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp.interfaces import Agent, Client

__all__ = ["AgentSideConnection"]


@final
class AgentSideConnection(SideConnection):
    """Serves an agent and lets it reach its client.

    Args:
        to_agent: The agent, or a function that makes it from this connection.
        input_stream: The client's input: a StreamWriter, or one transport of this package for both
            directions.
        output_stream: The client's output: a StreamReader.
        listening: Whether to serve at once, in a task of its own; otherwise `listen()` does.
        use_unstable_protocol: Whether unstable methods reach the agent.
        **connection_kwargs: The fields of `ConnectionOptions`.

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

    async def session_update(
        self,
        session_id: str,
        update: schema.UserMessageChunk
        | schema.AgentMessageChunk
        | schema.AgentThoughtChunk
        | schema.ToolCallStart
        | schema.ToolCallProgress
        | schema.AgentPlanUpdate
        | schema.AgentPlanContentUpdate
        | schema.AgentPlanRemovedUpdate
        | schema.AvailableCommandsUpdate
        | schema.CurrentModeUpdate
        | schema.ConfigOptionUpdate
        | schema.SessionInfoUpdate
        | schema.UsageUpdate,
        **kwargs: Any,
    ) -> None:
        """`session/update`: tells what happened in a session.

        Updates arrive in the order of these calls.
        """
        params = schema.SessionNotification(
            session_id=session_id, update=update, field_meta=kwargs or None
        )
        if self._connection.post("session/update", params):
            await self._connection.pause()

    async def request_permission(
        self,
        session_id: str,
        tool_call: schema.ToolCallUpdate,
        options: list[schema.PermissionOption],
        **kwargs: Any,
    ) -> schema.RequestPermissionResponse:
        """`session/request_permission`: has the user choose one of `options` before a tool runs."""
        params = schema.RequestPermissionRequest(
            session_id=session_id, tool_call=tool_call, options=options, field_meta=kwargs or None
        )
        return await self._connection.request("session/request_permission", params)

    async def read_text_file(
        self,
        session_id: str,
        path: str,
        line: int | None = None,
        limit: int | None = None,
        **kwargs: Any,
    ) -> schema.ReadTextFileResponse:
        """`fs/read_text_file`: reads a file, from `line` (counted from 1) on and at most `limit`
        lines.
        """
        params = schema.ReadTextFileRequest(
            session_id=session_id, path=path, line=line, limit=limit, field_meta=kwargs or None
        )
        return await self._connection.request("fs/read_text_file", params)

    async def write_text_file(
        self, session_id: str, path: str, content: str, **kwargs: Any
    ) -> schema.WriteTextFileResponse | None:
        """`fs/write_text_file`: writes a whole file; `path` is absolute."""
        params = schema.WriteTextFileRequest(
            session_id=session_id, path=path, content=content, field_meta=kwargs or None
        )
        return await self._connection.request("fs/write_text_file", params)

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[schema.EnvVariable] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **kwargs: Any,
    ) -> schema.CreateTerminalResponse:
        """`terminal/create`: starts a command in a terminal of the client and returns at once.

        Of its output the last `output_byte_limit` bytes are kept.
        """
        params = schema.CreateTerminalRequest(
            session_id=session_id,
            command=command,
            **given(args=args, env=env, cwd=cwd, output_byte_limit=output_byte_limit),
            field_meta=kwargs or None,
        )
        return await self._connection.request("terminal/create", params)

    async def terminal_output(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> schema.TerminalOutputResponse:
        """`terminal/output`: what the command has written so far, and its exit status once it
        ended.
        """
        params = schema.TerminalOutputRequest(
            session_id=session_id, terminal_id=terminal_id, field_meta=kwargs or None
        )
        return await self._connection.request("terminal/output", params)

    async def release_terminal(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> schema.ReleaseTerminalResponse | None:
        """`terminal/release`: ends the command if it runs, and forgets the terminal."""
        params = schema.ReleaseTerminalRequest(
            session_id=session_id, terminal_id=terminal_id, field_meta=kwargs or None
        )
        return await self._connection.request("terminal/release", params)

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> schema.WaitForTerminalExitResponse:
        """`terminal/wait_for_exit`: returns when the command has ended."""
        params = schema.WaitForTerminalExitRequest(
            session_id=session_id, terminal_id=terminal_id, field_meta=kwargs or None
        )
        return await self._connection.request("terminal/wait_for_exit", params)

    async def kill_terminal(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> schema.KillTerminalResponse | None:
        """`terminal/kill`: ends the command; the terminal and its output stay."""
        params = schema.KillTerminalRequest(
            session_id=session_id, terminal_id=terminal_id, field_meta=kwargs or None
        )
        return await self._connection.request("terminal/kill", params)

    async def create_elicitation(
        self, message: str, mode: Any, **kwargs: Any
    ) -> schema.CreateElicitationResponse:
        """`elicitation/create`: asks the user for data, by a form or at an address.

        `mode` is an object or a mapping with `session_id` (and perhaps `tool_call_id`) or
        `request_id`, and with `requested_schema` for a form or `elicitation_id` and `url` for an
        address.
        """
        params = elicitation_request(message, mode, kwargs or None)
        return await self._connection.request("elicitation/create", params)

    async def complete_elicitation(self, elicitation_id: str, **kwargs: Any) -> None:
        """`elicitation/complete`: what the user did at an address is done."""
        params = schema.CompleteElicitationNotification(
            elicitation_id=elicitation_id, field_meta=kwargs or None
        )
        await self._connection.notify("elicitation/complete", params)

    async def auth_status_update(
        self,
        state: schema.AuthState,
        accounts: list[schema.AuthAccount] | None = None,
        **kwargs: Any,
    ) -> None:
        """`auth/status_update` (unstable): who is logged in has changed."""
        params = schema.AuthStatusUpdateNotification(
            state=state, **given(accounts=accounts), field_meta=kwargs or None
        )
        await self._connection.notify("auth/status_update", params)

    def on_connect(self, conn: Agent) -> None:
        """Does nothing; it makes this class a `Client` for the agent."""
