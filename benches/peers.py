"""The programs of other SDKs, set up outside the tree.

Owns fetching and building what is built on the TypeScript and the Rust SDK: programs that are not
part of this project and lie under `$ACP_SHARED/bench`. One that cannot be set up has a reason.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools import bounded, rust_peer, tomls

__all__ = ("Missing", "Peer", "set_up")

SECONDS = 300.0
CLIENT_V2 = Path(__file__).with_name("programs") / "ts_client_v2.mjs"
RUST_SDK = "agent-client-protocol"


@dataclass(frozen=True)
class Peer:
    """Two programs of one SDK: `client UPDATES COMMAND…`, and an agent over stdio."""

    name: str
    version: str
    client: tuple[str, ...]
    agent: tuple[str, ...]
    client_v2: tuple[str, ...] | None = None
    """A client of protocol version 2, which prints microseconds for each update."""


@dataclass(frozen=True)
class Missing:
    """An SDK that cannot be measured here."""

    name: str
    reason: str


def typescript(sources: Path) -> Peer:
    """Raises RuntimeError that tells why it cannot be set up."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        message = "node and npm are needed"
        raise RuntimeError(message)
    files = [sources / name for name in ("package.json", "ts_client.mjs", "ts_agent.mjs")]
    absent = [path.name for path in files if not path.is_file()]
    if absent:
        message = f"{absent} not found under {sources}; set ACP_SHARED"
        raise RuntimeError(message)
    folder = rust_peer.cache() / "typescript"
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*files, CLIENT_V2):
        shutil.copyfile(path, folder / path.name)
    digest = hashlib.sha256((folder / "package.json").read_bytes()).hexdigest()
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text("utf-8") != digest:
        command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        ended = bounded.run(command, SECONDS, cwd=folder)
        if ended.code != 0:
            message = f"npm install failed: {ended.err.strip().splitlines()[-1:]}"
            raise RuntimeError(message)
        stamp.write_text(digest, "utf-8")
    package = folder / "node_modules" / "@agentclientprotocol" / "sdk" / "package.json"
    return Peer(
        "typescript",
        json.loads(package.read_text("utf-8"))["version"],
        (node, str(folder / "ts_client.mjs")),
        (node, str(folder / "ts_agent.mjs")),
        (node, str(folder / CLIENT_V2.name)),
    )


def rust(sources: Path) -> Peer:
    """Raises RuntimeError that tells why it cannot be set up."""
    programs = rust_peer.build(sources / "rust")
    lock = tomls.read(programs.parents[1] / "Cargo.lock")
    versions = [each["version"] for each in lock["package"] if each["name"] == RUST_SDK]
    return Peer("rust", versions[0], (str(programs / "client"),), (str(programs / "agent"),))


def set_up() -> list[Peer | Missing]:
    """Both, side by side."""
    root = Path(__file__).resolve().parents[2]
    sources = Path(os.environ.get("ACP_SHARED", root / "shared")) / "bench"

    def one(name: str) -> Peer | Missing:
        try:
            return {"typescript": typescript, "rust": rust}[name](sources)
        except (RuntimeError, OSError) as exc:
            return Missing(name, str(exc))

    with ThreadPoolExecutor() as pool:
        return list(pool.map(one, ("typescript", "rust")))
