"""What an agent and a client can do for each other, as classes to subclass.

Owns the signatures of the handlers, with the fields of their requests as parameters. A handler that
a subclass leaves out counts as not there: its request is answered with -32601, its notification is
ignored. It knows no connection.
"""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from acp._old_forms import param_model, param_models
from acp.schema import (
    AcpMcpServer,
    AgentMessageChunk,
    AgentPlanContentUpdate,
    AgentPlanRemovedUpdate,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AudioContentBlock,
    AuthenticateRequest,
    AuthenticateResponse,
    AvailableCommandsUpdate,
    CancelNotification,
    ClientCapabilities,
    CloseSessionRequest,
    CloseSessionResponse,
    CompleteElicitationNotification,
    ConfigOptionUpdate,
    CreateElicitationResponse,
    CreateTerminalRequest,
    CreateTerminalResponse,
    CurrentModeUpdate,
    ElicitationMode,
    EmbeddedResourceContentBlock,
    EnvVariable,
    ForkSessionRequest,
    ForkSessionResponse,
    HttpMcpServer,
    ImageContentBlock,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    KillTerminalRequest,
    KillTerminalResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    McpServerStdio,
    NewSessionRequest,
    NewSessionResponse,
    PermissionOption,
    PromptRequest,
    PromptResponse,
    ReadTextFileRequest,
    ReadTextFileResponse,
    ReleaseTerminalRequest,
    ReleaseTerminalResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    ResourceContentBlock,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SessionInfoUpdate,
    SessionNotification,
    SetSessionConfigOptionBooleanRequest,
    SetSessionConfigOptionResponse,
    SetSessionConfigOptionSelectRequest,
    SetSessionModeRequest,
    SetSessionModeResponse,
    SseMcpServer,
    TerminalOutputRequest,
    TerminalOutputResponse,
    TextContentBlock,
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

__all__ = ["Agent", "Client"]


def _left_out() -> NoReturn:
    """The body of a handler that a subclass may leave out.

    A plain `...` or `raise` would have type checkers take every subclass for abstract.
    """
    raise NotImplementedError


class Agent(Protocol):
    """Handlers of an agent: subclass it and write those that the agent has.

    Each is called with keywords, one per parameter named here, also for what the client did not
    send (None). `**kwargs` receives the request's `_meta`. A handler raises `acp.RequestError` to
    answer with that error.
    """

    @param_model(InitializeRequest)
    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **kwargs: Any,
    ) -> InitializeResponse:
        """`initialize`: settles version and capabilities before everything else."""
        _left_out()

    @param_model(NewSessionRequest)
    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]
        | None = None,
        **kwargs: Any,
    ) -> NewSessionResponse:
        """`session/new`: opens a session in the directory `cwd`, an absolute path."""
        _left_out()

    @param_model(LoadSessionRequest)
    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]
        | None = None,
        additional_directories: list[str] | None = None,
        **kwargs: Any,
    ) -> LoadSessionResponse | None:
        """`session/load`: opens an earlier session and sends its messages again."""
        _left_out()

    @param_model(ListSessionsRequest)
    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **kwargs: Any
    ) -> ListSessionsResponse:
        """`session/list`: one page of earlier sessions; `cursor` is what the page before ended
        with.
        """
        _left_out()

    @param_model(SetSessionModeRequest)
    async def set_session_mode(
        self, session_id: str, mode_id: str, **kwargs: Any
    ) -> SetSessionModeResponse | None:
        """`session/set_mode`: switches the session to one of the modes that it offered."""
        _left_out()

    @param_models(SetSessionConfigOptionBooleanRequest, SetSessionConfigOptionSelectRequest)
    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **kwargs: Any
    ) -> SetSessionConfigOptionResponse | None:
        """`session/set_config_option`: sets one option, and returns all of them as they are now."""
        _left_out()

    @param_model(AuthenticateRequest)
    async def authenticate(self, method_id: str, **kwargs: Any) -> AuthenticateResponse | None:
        """`authenticate`: logs in by one of the methods that `initialize` offered."""
        _left_out()

    @param_model(PromptRequest)
    async def prompt(
        self,
        session_id: str,
        prompt: list[
            TextContentBlock
            | ImageContentBlock
            | AudioContentBlock
            | ResourceContentBlock
            | EmbeddedResourceContentBlock
        ],
        **kwargs: Any,
    ) -> PromptResponse:
        """`session/prompt`: one turn; it returns, with the reason, when the turn is over."""
        _left_out()

    @param_model(ForkSessionRequest)
    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]
        | None = None,
        **kwargs: Any,
    ) -> ForkSessionResponse:
        """`session/fork`: opens a new session that begins with what the other one holds."""
        _left_out()

    @param_model(ResumeSessionRequest)
    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]
        | None = None,
        **kwargs: Any,
    ) -> ResumeSessionResponse:
        """`session/resume`: opens an earlier session without sending its messages again."""
        _left_out()

    @param_model(CloseSessionRequest)
    async def close_session(self, session_id: str, **kwargs: Any) -> CloseSessionResponse | None:
        """`session/close`: ends the session and what runs in it."""
        _left_out()

    @param_model(CancelNotification)
    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        """`session/cancel`: the client wants the running turn of the session to end."""
        return

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """A request outside the protocol; `method` comes without its leading underscore."""
        _left_out()

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """A notification outside the protocol; `method` comes without its leading underscore."""
        return

    def on_connect(self, conn: Client) -> None:
        """Called once with the connection, by which the agent reaches its client."""
        return


class Client(Protocol):
    """Handlers of a client: subclass it and write those that the client has.

    They are called as those of `Agent` are.
    """

    @param_model(RequestPermissionRequest)
    async def request_permission(
        self,
        session_id: str,
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **kwargs: Any,
    ) -> RequestPermissionResponse:
        """`session/request_permission`: has the user choose one of `options`."""
        _left_out()

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
        """`session/update`: something happened in the session.

        Those of one session arrive one after another.
        """
        return

    @param_model(WriteTextFileRequest)
    async def write_text_file(
        self, session_id: str, path: str, content: str, **kwargs: Any
    ) -> WriteTextFileResponse | None:
        """`fs/write_text_file`: writes a whole file; `path` is absolute."""
        _left_out()

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
        _left_out()

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
        """`terminal/create`: starts a command and returns at once; of its output the last bytes are
        kept.
        """
        _left_out()

    @param_model(TerminalOutputRequest)
    async def terminal_output(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> TerminalOutputResponse:
        """`terminal/output`: what the command has written so far, and its exit status once it
        ended.
        """
        _left_out()

    @param_model(ReleaseTerminalRequest)
    async def release_terminal(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> ReleaseTerminalResponse | None:
        """`terminal/release`: ends the command if it runs, and forgets the terminal."""
        _left_out()

    @param_model(WaitForTerminalExitRequest)
    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> WaitForTerminalExitResponse:
        """`terminal/wait_for_exit`: returns when the command has ended."""
        _left_out()

    @param_model(KillTerminalRequest)
    async def kill_terminal(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> KillTerminalResponse | None:
        """`terminal/kill`: ends the command; the terminal and its output stay."""
        _left_out()

    async def create_elicitation(
        self, message: str, mode: ElicitationMode, **kwargs: Any
    ) -> CreateElicitationResponse:
        """`elicitation/create`: asks the user for data, by a form or at an address.

        `mode` is one of four objects: `ElicitationFormSessionMode`, `ElicitationFormRequestMode`
        (a form, `requested_schema`), `ElicitationUrlSessionMode`, `ElicitationUrlRequestMode` (an
        address, `url`). Those of a session have `session_id` and `tool_call_id`, the others
        `request_id`.
        """
        _left_out()

    @param_model(CompleteElicitationNotification)
    async def complete_elicitation(self, elicitation_id: str, **kwargs: Any) -> None:
        """`elicitation/complete`: what the user did at an address is done."""
        return

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """A request outside the protocol; `method` comes without its leading underscore."""
        _left_out()

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """A notification outside the protocol; `method` comes without its leading underscore."""
        return

    def on_connect(self, conn: Agent) -> None:
        """Called once with the connection, by which the client reaches its agent."""
        return
