"""Tasks and writers of asyncio, under the name of the official Python SDK.

Re-exports; no logic of its own. The connections of this library do not use them.
"""

from __future__ import annotations

from acp.task.sender import MessageSender
from acp.task.supervisor import TaskSupervisor

__all__ = ["MessageSender", "TaskSupervisor"]
