"""The wheel that stands in for the official SDK: `acp shim`.

Owns what is in it: a name, a version and requirements, and no module. Which name and version that
is, `acp_doctor` knows. The same release of this library always writes the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

from acp_doctor import OFFICIAL, OURS, SHIM_VERSION, SHIM_WHEEL

__all__ = ("build_shim", "run_shim")

_FOLDER = f"agent_client_protocol-{SHIM_VERSION}.dist-info"
_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The first time that a zip file can tell."""

# What came with the official SDK still comes, for programs that use it without asking for it.
_REQUIREMENTS = (
    OURS,
    "pydantic>=2.7",
    f'{OURS}[http]; extra == "http"',
    'httpx[http2]>=0.27; extra == "http"',
    'websockets>=12.0; extra == "http"',
    'logfire>=0.14; extra == "logfire"',
    'opentelemetry-sdk>=1.28.0; extra == "logfire"',
)
_EXTRAS = ("http", "logfire")

_DESCRIPTION = f"""\
This distribution has no code. It was made on this machine by `acp shim`, of {OURS}, and takes the
place of the official SDK {OFFICIAL}, so that packages that require that one are content with
{OURS}, which offers the same package `acp`.

To go back: uninstall both, then install {OFFICIAL} from the index.
"""


def build_shim(folder: Path) -> Path:
    """Writes the wheel into `folder`, which is made when it is not there, and returns its path.

    A wheel of that name is overwritten. Raises OSError when it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / SHIM_WHEEL
    files = {f"{_FOLDER}/METADATA": _metadata(), f"{_FOLDER}/WHEEL": _wheel()}
    record = f"{_FOLDER}/RECORD"
    lines = [f"{name},sha256={_digest(text)},{len(text.encode())}" for name, text in files.items()]
    files[record] = "\n".join([*lines, f"{record},,", ""])
    # Stored, since what compression makes of them differs between releases of zlib.
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED) as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name, _EARLIEST)
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, text)
    return wheel


def run_shim(folder: Path) -> int:
    """Builds the wheel, prints its path, and returns the exit code: 1 when it cannot be written."""
    try:
        print(build_shim(folder))
    except OSError as failure:
        print(f"acp shim: {failure}", file=sys.stderr)
        return 1
    return 0


def _metadata() -> str:
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {OFFICIAL}",
        f"Version: {SHIM_VERSION}",
        f"Summary: Stands in for the official SDK: no code, requires {OURS}",
        "Requires-Python: >=3.10",
        *(f"Provides-Extra: {extra}" for extra in _EXTRAS),
        *(f"Requires-Dist: {requirement}" for requirement in _REQUIREMENTS),
        "Description-Content-Type: text/plain",
    ]
    return "\n".join([*lines, "", _DESCRIPTION])


def _wheel() -> str:
    return "Wheel-Version: 1.0\nGenerator: acp shim\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
