"""A plugin of pytest that counts connections and frames while another project's tests run.

Owns the counts, written to the file that `CORE_COUNTS` names. It changes nothing that the tests see
and is imported by its own name, in an environment that has this project's package alone.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from acp import _core, connection

_made = _core.Connection
_serve = connection.Connection._serve
_cores: list[Any] = []
_faces: list[Any] = []


def _counted(*args: Any, **options: Any) -> Any:
    core = _made(*args, **options)
    _cores.append(core)
    return core


def _counted_face(self: Any, *args: Any, **options: Any) -> None:
    _serve(self, *args, **options)
    _faces.append(self.inner.core)


def pytest_configure() -> None:
    """Counts from here on."""
    setattr(_core, "Connection", _counted)  # noqa: B010 - the module's names are constants
    setattr(connection.Connection, "_serve", _counted_face)  # noqa: B010


def pytest_sessionfinish() -> None:
    """Writes what was counted."""
    kinds = ("requests", "notifications", "responses")
    counts = {kind: sum(core.counters()[kind] for core in _cores) for kind in kinds}
    counts["connections"] = len(_faces)
    counts["without_core"] = sum(core not in _cores for core in _faces)
    Path(os.environ["CORE_COUNTS"]).write_text(json.dumps(counts), "utf-8")
