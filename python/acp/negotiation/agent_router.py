"""One agent for more than one protocol version.

Owns looking at the first call of a connection and choosing who serves it. What the chosen agent
makes of it, and all that follows, is that agent's alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyio import BrokenResourceError, CancelScope, ClosedResourceError, move_on_after

from acp import _core
from acp._core import NotificationReceived, RequestReceived
from acp._limits import Limits
from acp.exceptions import RequestError
from acp.negotiation.frames import FrameReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acp._endpoint.endpoint import Endpoint
    from acp._transports.base import Transport

__all__ = ("AgentRouter", "unsupported_protocol_version")


def unsupported_protocol_version(requested: int, supported: Sequence[int]) -> RequestError:
    """The error for a client that asks for a version below all that are served: -32022, with both
    as data.
    """
    code, message, data = _core.unsupported_protocol_version(requested, supported)
    return RequestError(code, message, data)


class AgentRouter:
    """Serves each connection with the agent of the version that its client asks for.

    That is the highest version configured that is not above the one asked for; an agent of version
    1 serves those that ask for less, too, and, where there is one, whatever begins without a
    readable `initialize`, as it always did. The first frame reaches the agent as it was received,
    also when it is a batch. The other agent is never started.

    Args:
        v1: An agent of `acp.v1`, or None.
        v2: An agent of `acp.v2`, or None. Either may be set later, up to `serve`.
        close_on_rejection: Whether a client that cannot be served is told so and the connection is
            closed; otherwise it may try again.
        limits: Bounds of what is read before an agent is chosen.
    """

    def __init__(
        self,
        v1: Endpoint[Any] | None = None,
        v2: Endpoint[Any] | None = None,
        *,
        close_on_rejection: bool = True,
        limits: Limits | None = None,
    ) -> None:
        self._agents: dict[int, Endpoint[Any]] = {}
        if v1 is not None:
            self.add(v1)
        if v2 is not None:
            self.add(v2)
        self._close_on_rejection = close_on_rejection
        self._limits = limits or Limits()

    def add(self, agent: Endpoint[Any]) -> None:
        """Adds the agent of one more version.

        Raises ValueError for a client, and for a second agent of a version.
        """
        version = agent.facts.version
        if agent.side != "agent" or version in self._agents:
            message = "A router takes agents, one for each protocol version"
            raise ValueError(message)
        self._agents[version] = agent

    @property
    def versions(self) -> list[int]:
        """The versions that are served."""
        return sorted(self._agents)

    async def serve(self, transport: Transport) -> None:
        """Serves one connection until its input ends.

        Raises what the `serve` of the chosen agent raises, and ConnectionClosed when the transport
        fails before one is chosen.
        """
        chosen = None
        try:
            await transport.open()
            chosen = await self._choose(transport)
        except (BrokenResourceError, ClosedResourceError) as exc:
            raise transport.closed_error() from exc
        finally:
            if chosen is None:
                with CancelScope(shield=True):
                    await transport.close()
        if chosen is None:
            return
        agent, resumed = chosen
        await agent.serve(resumed)

    async def _choose(self, transport: Transport) -> tuple[Endpoint[Any], Transport] | None:
        reader = FrameReader(transport, self._limits.max_message_bytes)
        # Without its guard it answers what is no message, and leaves all else to this.
        probe = _core.Connection(
            "agent",
            guard=False,
            max_message_bytes=self._limits.max_message_bytes,
            max_batch_entries=self._limits.max_batch_entries,
        )
        while not reader.is_over:
            frame = await reader.next()
            events = probe.receive(frame) + (probe.end_of_input() if reader.is_over else [])
            calls = [e for e in events if isinstance(e, (RequestReceived, NotificationReceived))]
            agent, refusal = self._judge(calls)
            if agent is not None:
                return agent, reader.resume(frame)
            for call in calls:
                if isinstance(call, RequestReceived) and refusal is not None:
                    data = () if refusal.data is None else (refusal.data,)
                    probe.respond_error(call.token, refusal.code, refusal.message, *data)
                elif call.token is not None:
                    probe.handled(call.token)
            if not await self._send(transport, probe.take_output()):
                return None
            if refusal is not None and self._close_on_rejection:
                return None
        return None

    async def _send(self, transport: Transport, data: bytes) -> bool:
        """Sends what is said before an agent is chosen. False when the client takes it no more."""
        if not data:
            return True
        try:
            with move_on_after(self._limits.draining) as patience:
                await transport.send(data)
        except (BrokenResourceError, ClosedResourceError):
            return False
        return not patience.cancelled_caught

    def _judge(self, calls: list[Any]) -> tuple[Endpoint[Any] | None, RequestError | None]:
        """Who serves a connection that begins with these calls, or what its requests get."""
        if not calls:
            return None, None
        first, oldest = calls[0], self._agents.get(1)
        requested = None
        if isinstance(first, RequestReceived) and first.method == "initialize":
            requested = _core.requested_version(first.raw_params() or b"null")
            if requested is not None:
                chosen = _core.choose_version(requested, self.versions)
                if chosen is not None:
                    return self._agents[chosen], None
                return None, unsupported_protocol_version(requested, self.versions)
        if oldest is not None:
            return oldest, None
        if not self._agents:
            return None, _invalid("this endpoint serves no ACP protocol versions")
        if not isinstance(first, RequestReceived):
            if any(isinstance(call, RequestReceived) for call in calls):
                return None, _invalid("first ACP message must be a `initialize` request")
            return None, None
        if first.method != "initialize":
            return None, _invalid("first ACP request must be `initialize`")
        text = "initialize.protocolVersion must be a valid ACP protocol version"
        return None, RequestError(-32602, "Invalid params", text)


def _invalid(data: str) -> RequestError:
    return RequestError(-32600, "Invalid request", data)
