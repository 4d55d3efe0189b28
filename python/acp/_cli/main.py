"""Arguments of the command `acp`.

Owns the parser and the choice of a subcommand. What a subcommand does is in its own module.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import acp_doctor

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("main",)

_NOBODY_READS = 141
"""What a shell reports for a program that a closed pipe has ended: 128 and SIGPIPE."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with `arguments`, those of the process by default, and returns its exit
    code.
    """
    parser = argparse.ArgumentParser(prog="acp", description="Agent Client Protocol for Python.")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="an agent and a client in two processes, live",
        description="Starts an agent in a second process and talks to it: streamed text, a plan, a "
        "tool call with a permission, a cancelled turn. Exits with 0 when all went as it should.",
    )
    demo.add_argument("--json", action="store_true", help="one JSON object per line")
    demo.add_argument("--v2", action="store_true", help="in version 2 of the protocol, a draft")
    doctor = commands.add_parser(
        "doctor",
        help="whose package `acp` is in this environment, and how to mend it",
        description="Tells which distribution owns the package `acp`, what overlaps, is missing or "
        "left over, and the commands that mend it. Exits with 0 when it is healthy. Where `acp` "
        "cannot be imported: `python -m acp_doctor`.",
    )
    acp_doctor.add_options(doctor)
    shim = commands.add_parser(
        "shim",
        help="make the wheel that stands in for the official SDK",
        description=f"Writes {acp_doctor.SHIM_WHEEL}, which has no code and requires "
        f"{acp_doctor.OURS}, for packages that require the official SDK, and prints its path.",
    )
    shim.add_argument("--out", default=".", metavar="DIR", help="folder to write it into")
    options = parser.parse_args(arguments)
    try:
        return _run(parser, options)
    except BrokenPipeError:
        # Whoever read has had enough. What is still buffered has nowhere to go, also at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NOBODY_READS


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.version:
        import acp

        sys.stdout.write(f"{acp.__version__}\n")
        return 0
    if options.command == "demo":
        from acp._cli.demo import run_demo
        from acp._cli.screen import JsonScreen, open_screen

        screen = JsonScreen() if options.json else open_screen()
        return run_demo(screen, live=not options.json, v2=options.v2)
    if options.command == "doctor":
        return acp_doctor.run(options)
    if options.command == "shim":
        from acp._cli.shim import run_shim

        return run_shim(Path(options.out))
    parser.print_help()
    return 2
