"""Agent Client Protocol: agents and the programs that drive them.

Owns the names that users import from `acp`. Each is fetched from its module when it is first used,
so that importing this package loads neither asyncio nor the schema, nor any optional dependency.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from acp._lazy import lazily

if TYPE_CHECKING:
    from acp._cancellation import Cancellation
    from acp._core import UNSET
    from acp._core import __version__ as __version__
    from acp._endpoint.dynamic import HandlerGuard
    from acp._endpoint.handlers import UNHANDLED, Unhandled, unhandled
    from acp._endpoint.interception import Response
    from acp._endpoint.message import Message
    from acp._endpoint.sent import (
        CancelHandle,
        Outcome,
        PreparedRequest,
        SentRequest,
    )
    from acp._limits import Limits
    from acp._malformed import Malformed
    from acp._policies.ordered import (
        InboxClosed,
        InboxFinished,
        InboxFull,
        InboxUpdate,
        OrderedInbox,
    )
    from acp._responder import Responder
    from acp._stats import (
        ConnectionStats,
        HandlerInfo,
    )
    from acp._termination import Termination
    from acp._transports.base import Transport
    from acp._transports.environment import default_environment
    from acp._transports.memory import memory_pair
    from acp._transports.process import process_transport
    from acp._transports.stdio import stdio_transport
    from acp._versions import HIGHEST_MODELED, SERVED
    from acp.core import (
        connect_to_agent,
        run_agent,
    )
    from acp.exceptions import (
        ConnectionClosed,
        InternalError,
        LocalProtocolError,
        RemoteProtocolError,
        RequestError,
        RequestTimeout,
        SessionClosed,
        StreamOverflow,
        UnsupportedByPeer,
        ValidationError,
        VersionMismatch,
    )
    from acp.helpers import (
        audio_block,
        embedded_blob_resource,
        embedded_text_resource,
        image_block,
        plan_entry,
        resource_block,
        resource_link_block,
        session_notification,
        start_edit_tool_call,
        start_read_tool_call,
        start_tool_call,
        text_block,
        tool_content,
        tool_diff_content,
        tool_terminal_ref,
        update_agent_message,
        update_agent_message_text,
        update_agent_thought,
        update_agent_thought_text,
        update_plan,
        update_tool_call,
        update_user_message,
        update_user_message_text,
    )
    from acp.interfaces import (
        Agent,
        Client,
    )
    from acp.meta import (
        AGENT_METHODS,
        CLIENT_METHODS,
        PROTOCOL_VERSION,
    )
    from acp.schema import (
        AcceptElicitationResponse,
        AuthenticateRequest,
        AuthenticateResponse,
        CancelElicitationResponse,
        CancelNotification,
        CompleteElicitationNotification,
        CreateElicitationRequest,
        CreateElicitationResponse,
        CreateFormElicitationRequest,
        CreateFormRequestElicitationRequest,
        CreateFormSessionElicitationRequest,
        CreateOtherElicitationRequest,
        CreateTerminalRequest,
        CreateTerminalResponse,
        CreateUrlElicitationRequest,
        CreateUrlRequestElicitationRequest,
        CreateUrlSessionElicitationRequest,
        DeclineElicitationResponse,
        ElicitationBooleanPropertySchema,
        ElicitationCapabilities,
        ElicitationFormCapabilities,
        ElicitationFormRequestMode,
        ElicitationFormSessionMode,
        ElicitationIntegerPropertySchema,
        ElicitationMode,
        ElicitationMultiSelectPropertySchema,
        ElicitationNumberPropertySchema,
        ElicitationOtherPropertySchema,
        ElicitationSchema,
        ElicitationStringPropertySchema,
        ElicitationUrlCapabilities,
        ElicitationUrlRequestMode,
        ElicitationUrlSessionMode,
        InitializeRequest,
        InitializeResponse,
        KillTerminalRequest,
        KillTerminalResponse,
        LoadSessionRequest,
        LoadSessionResponse,
        NewSessionRequest,
        NewSessionResponse,
        OtherElicitationResponse,
        PromptRequest,
        PromptResponse,
        ReadTextFileRequest,
        ReadTextFileResponse,
        ReleaseTerminalRequest,
        ReleaseTerminalResponse,
        RequestPermissionRequest,
        RequestPermissionResponse,
        SessionNotification,
        SetSessionConfigOptionResponse,
        SetSessionConfigOptionSelectRequest,
        SetSessionModeRequest,
        SetSessionModeResponse,
        TerminalOutputRequest,
        TerminalOutputResponse,
        WaitForTerminalExitRequest,
        WaitForTerminalExitResponse,
        WriteTextFileRequest,
        WriteTextFileResponse,
    )
    from acp.stdio import (
        spawn_agent_process,
        spawn_client_process,
        spawn_stdio_connection,
        stdio_streams,
    )
    from acp.transports import spawn_stdio_transport

__all__ = [
    "__version__",
    "AGENT_METHODS",
    "AcceptElicitationResponse",
    "Agent",
    "AuthenticateRequest",
    "AuthenticateResponse",
    "CLIENT_METHODS",
    "CancelElicitationResponse",
    "CancelHandle",
    "CancelNotification",
    "Cancellation",
    "Client",
    "CompleteElicitationNotification",
    "ConnectionClosed",
    "ConnectionStats",
    "CreateElicitationRequest",
    "CreateElicitationResponse",
    "CreateFormElicitationRequest",
    "CreateFormRequestElicitationRequest",
    "CreateFormSessionElicitationRequest",
    "CreateOtherElicitationRequest",
    "CreateTerminalRequest",
    "CreateTerminalResponse",
    "CreateUrlElicitationRequest",
    "CreateUrlRequestElicitationRequest",
    "CreateUrlSessionElicitationRequest",
    "DeclineElicitationResponse",
    "ElicitationBooleanPropertySchema",
    "ElicitationCapabilities",
    "ElicitationFormCapabilities",
    "ElicitationFormRequestMode",
    "ElicitationFormSessionMode",
    "ElicitationIntegerPropertySchema",
    "ElicitationMode",
    "ElicitationMultiSelectPropertySchema",
    "ElicitationNumberPropertySchema",
    "ElicitationOtherPropertySchema",
    "ElicitationSchema",
    "ElicitationStringPropertySchema",
    "ElicitationUrlCapabilities",
    "ElicitationUrlRequestMode",
    "ElicitationUrlSessionMode",
    "HIGHEST_MODELED",
    "HandlerGuard",
    "HandlerInfo",
    "InboxClosed",
    "InboxFinished",
    "InboxFull",
    "InboxUpdate",
    "InitializeRequest",
    "InitializeResponse",
    "InternalError",
    "KillTerminalRequest",
    "KillTerminalResponse",
    "Limits",
    "LoadSessionRequest",
    "LoadSessionResponse",
    "LocalProtocolError",
    "Malformed",
    "Message",
    "NewSessionRequest",
    "NewSessionResponse",
    "OrderedInbox",
    "OtherElicitationResponse",
    "Outcome",
    "PROTOCOL_VERSION",
    "PreparedRequest",
    "PromptRequest",
    "PromptResponse",
    "ReadTextFileRequest",
    "ReadTextFileResponse",
    "ReleaseTerminalRequest",
    "ReleaseTerminalResponse",
    "RemoteProtocolError",
    "RequestError",
    "RequestPermissionRequest",
    "RequestPermissionResponse",
    "RequestTimeout",
    "Responder",
    "Response",
    "SERVED",
    "SentRequest",
    "SessionClosed",
    "SessionNotification",
    "SetSessionConfigOptionResponse",
    "SetSessionConfigOptionSelectRequest",
    "SetSessionModeRequest",
    "SetSessionModeResponse",
    "StreamOverflow",
    "TerminalOutputRequest",
    "TerminalOutputResponse",
    "Termination",
    "Transport",
    "UNHANDLED",
    "UNSET",
    "Unhandled",
    "UnsupportedByPeer",
    "ValidationError",
    "VersionMismatch",
    "WaitForTerminalExitRequest",
    "WaitForTerminalExitResponse",
    "WriteTextFileRequest",
    "WriteTextFileResponse",
    "audio_block",
    "connect_to_agent",
    "default_environment",
    "embedded_blob_resource",
    "embedded_text_resource",
    "image_block",
    "memory_pair",
    "plan_entry",
    "process_transport",
    "resource_block",
    "resource_link_block",
    "run_agent",
    "session_notification",
    "spawn_agent_process",
    "spawn_client_process",
    "spawn_stdio_connection",
    "spawn_stdio_transport",
    "start_edit_tool_call",
    "start_read_tool_call",
    "start_tool_call",
    "stdio_streams",
    "stdio_transport",
    "text_block",
    "tool_content",
    "tool_diff_content",
    "tool_terminal_ref",
    "unhandled",
    "update_agent_message",
    "update_agent_message_text",
    "update_agent_thought",
    "update_agent_thought_text",
    "update_plan",
    "update_tool_call",
    "update_user_message",
    "update_user_message_text",
]

_MODULES = {
    "acp._core": "UNSET __version__",
    "acp._cancellation": "Cancellation",
    "acp._endpoint.dynamic": "HandlerGuard",
    "acp._endpoint.handlers": "UNHANDLED Unhandled unhandled",
    "acp._endpoint.interception": "Response",
    "acp._endpoint.message": "Message",
    "acp._endpoint.sent": "CancelHandle Outcome PreparedRequest SentRequest",
    "acp._limits": "Limits",
    "acp._malformed": "Malformed",
    "acp._policies.ordered": "InboxClosed InboxFinished InboxFull InboxUpdate OrderedInbox",
    "acp._responder": "Responder",
    "acp._stats": "ConnectionStats HandlerInfo",
    "acp._termination": "Termination",
    "acp._transports.base": "Transport",
    "acp._transports.environment": "default_environment",
    "acp._transports.memory": "memory_pair",
    "acp._transports.process": "process_transport",
    "acp._transports.stdio": "stdio_transport",
    "acp._versions": "HIGHEST_MODELED SERVED",
    "acp.core": "connect_to_agent run_agent",
    "acp.exceptions": (
        "ConnectionClosed InternalError LocalProtocolError RemoteProtocolError RequestError "
        "RequestTimeout SessionClosed StreamOverflow UnsupportedByPeer ValidationError "
        "VersionMismatch "
    ),
    "acp.helpers": (
        "audio_block embedded_blob_resource embedded_text_resource image_block plan_entry "
        "resource_block resource_link_block session_notification start_edit_tool_call "
        "start_read_tool_call start_tool_call text_block tool_content tool_diff_content "
        "tool_terminal_ref update_agent_message update_agent_message_text update_agent_thought "
        "update_agent_thought_text update_plan update_tool_call update_user_message "
        "update_user_message_text "
    ),
    "acp.interfaces": "Agent Client",
    "acp.meta": "AGENT_METHODS CLIENT_METHODS PROTOCOL_VERSION",
    "acp.schema": (
        "AcceptElicitationResponse AuthenticateRequest AuthenticateResponse "
        "CancelElicitationResponse CancelNotification CompleteElicitationNotification "
        "CreateElicitationRequest CreateElicitationResponse CreateFormElicitationRequest "
        "CreateFormRequestElicitationRequest CreateFormSessionElicitationRequest "
        "CreateOtherElicitationRequest CreateTerminalRequest CreateTerminalResponse "
        "CreateUrlElicitationRequest CreateUrlRequestElicitationRequest "
        "CreateUrlSessionElicitationRequest DeclineElicitationResponse "
        "ElicitationBooleanPropertySchema ElicitationCapabilities ElicitationFormCapabilities "
        "ElicitationFormRequestMode ElicitationFormSessionMode "
        "ElicitationIntegerPropertySchema ElicitationMode ElicitationMultiSelectPropertySchema "
        "ElicitationNumberPropertySchema ElicitationOtherPropertySchema ElicitationSchema "
        "ElicitationStringPropertySchema ElicitationUrlCapabilities ElicitationUrlRequestMode "
        "ElicitationUrlSessionMode InitializeRequest "
        "InitializeResponse KillTerminalRequest KillTerminalResponse LoadSessionRequest "
        "LoadSessionResponse NewSessionRequest NewSessionResponse OtherElicitationResponse "
        "PromptRequest PromptResponse ReadTextFileRequest ReadTextFileResponse "
        "ReleaseTerminalRequest ReleaseTerminalResponse RequestPermissionRequest "
        "RequestPermissionResponse SessionNotification SetSessionConfigOptionResponse "
        "SetSessionConfigOptionSelectRequest SetSessionModeRequest SetSessionModeResponse "
        "TerminalOutputRequest TerminalOutputResponse WaitForTerminalExitRequest "
        "WaitForTerminalExitResponse WriteTextFileRequest WriteTextFileResponse "
    ),
    "acp.stdio": "spawn_agent_process spawn_client_process spawn_stdio_connection stdio_streams",
    "acp.transports": "spawn_stdio_transport",
}
"""Where each public name is defined."""

_SUBMODULES = (  # noqa: SIM905 - written as the names of `_MODULES` are
    "agent client connection core exceptions helpers http interfaces kit meta negotiation "
    "router schema stdio task telemetry transports utils v1 v2 ws"
).split()
"""Modules that are attributes of the package without having been imported."""

_DEPRECATED_NAMES = (
    ("AgentSideConnection", "acp.agent.connection:AgentSideConnection", "deprecated"),
    ("ClientSideConnection", "acp.client.connection:ClientSideConnection", "deprecated"),
)
"""Names that are not public here, and where they are; using one warns."""

_fetch, __dir__ = lazily(__name__, _MODULES, _SUBMODULES)


def __getattr__(name: str) -> Any:
    for deprecated, home, _ in _DEPRECATED_NAMES:
        if name == deprecated:
            module, _, _ = home.partition(":")
            message = f"acp.{name} is deprecated: import it from {module}"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return getattr(importlib.import_module(module), name)
    return _fetch(name)
