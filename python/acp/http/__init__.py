"""Not there yet: the official Python SDK has its HTTP transports under this name."""

message = (
    "acp.http is not part of this release; connect over standard streams or a transport of acp"
)
raise ImportError(message, name="acp.http")
