"""A folder of installed packages, written as an installer writes it.

Owns records and files only; nothing here is ever imported.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import acp_doctor

OURS: dict[str, str] = {
    "acp/__init__.py": "ours = 1\n",
    "acp/_core.so": "binary",
    "acp/schema.py": "s = 1\n",
}
OFFICIALS: dict[str, str] = {
    "acp/__init__.py": "official = 1\n",
    "acp/router.py": "r = 1\n",
    "acp/schema.py": "s = 2\n",
}


class Packages:
    """The folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def install(
        self,
        name: str,
        version: str,
        files: dict[str, str],
        *,
        requires: tuple[str, ...] = (),
        origin: dict[str, Any] | None = None,
    ) -> None:
        """Writes files and their record, over those that are there."""
        folder = self.folder(name, version)
        folder.mkdir()
        wants = "".join(f"Requires-Dist: {each}\n" for each in requires)
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{wants}"
        (folder / "METADATA").write_text(metadata, "utf-8")
        if origin is not None:
            (folder / "direct_url.json").write_text(json.dumps(origin), "utf-8")
        rows: list[str] = []
        for file, text in files.items():
            path = self.root / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
            rows.append(f"{file},sha256={digest.rstrip(b'=').decode()},{len(text)}")
        (folder / "RECORD").write_text("\n".join([*rows, f"{folder.name}/RECORD,,"]), "utf-8")

    def uninstall(self, name: str, version: str) -> None:
        """Removes what the record names, as far as it is there, and the record."""
        folder = self.folder(name, version)
        for row in (folder / "RECORD").read_text("utf-8").splitlines():
            (self.root / row.split(",")[0]).unlink(missing_ok=True)
        shutil.rmtree(folder)

    def native(self, **options: Any) -> None:
        """Installs this library."""
        self.install("acp-native", "0.1.0", OURS, **options)

    def official(self) -> None:
        """Installs the official SDK."""
        self.install("agent-client-protocol", "0.12.1", OFFICIALS)

    def shim(self) -> None:
        """Installs what stands in for it."""
        needs = ("acp-native",)
        self.install("agent-client-protocol", acp_doctor.SHIM_VERSION, {}, requires=needs)

    def folder(self, name: str, version: str) -> Path:
        """Where the record of a distribution is."""
        return self.root / f"{name.replace('-', '_')}-{version}.dist-info"

    def examined(self, *before: Path) -> acp_doctor.Report:
        """What the doctor finds, with other folders before this one."""
        return acp_doctor.examine([*map(str, before), str(self.root)])

    def kinds(self, *before: Path) -> set[str]:
        """The kinds of what the doctor finds."""
        return {finding.kind for finding in self.examined(*before).findings}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs the command `acp` of the doctor that is installed here, with no other packages."""
        sources = Path(acp_doctor.__file__).parent
        shutil.copytree(sources, self.root / "acp_doctor", dirs_exist_ok=True)
        program = (
            f"import sys; sys.path.insert(0, {str(self.root)!r}); sys.argv[0] = 'acp'; "
            "from acp_doctor import command; sys.exit(command())"
        )
        return subprocess.run(
            [sys.executable, "-I", "-S", "-c", program, *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=50,
            check=False,
        )
