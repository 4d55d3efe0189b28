"""What is collected here: one file is about programs that use pydantic, where it is installed."""

from __future__ import annotations

import importlib.util

collect_ignore: list[str] = []
if importlib.util.find_spec("pydantic") is None:
    collect_ignore.append("test_in_models.py")
