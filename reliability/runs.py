"""Runs each figure in a process of its own, for so long and no longer.

Owns starting the processes and reading what they found; judges nothing. A figure that hangs, dies
or fills the memory costs only itself, and finds no memory that another one has left.
`python -m reliability.runs ID` is such a process: it prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from dataclasses import dataclass, field
from pathlib import Path

from reliability.figures import Figure, Form, Values, table
from tools import bounded

__all__ = ("Measured", "measure")

ROOT = Path(__file__).resolve().parent.parent
LINES_OF_REMARKS = 40


@dataclass(frozen=True)
class Measured:
    """What came of one figure."""

    figure: Figure
    seconds: float
    values: Values = field(default_factory=dict)
    failure: str = ""
    """Why there are no values."""
    remarks: str = ""
    """What it wrote to stderr, which tells more about a value that is off."""


def measure(figure: Figure, form: Form) -> Measured:
    """Measures a figure in a new process."""
    command = [sys.executable, "-m", "reliability.runs", figure.id, "--seed", str(form.seed)]
    if form.short:
        command.append("--short")
    ended = bounded.run(command, figure.seconds, cwd=ROOT)
    if ended.code is None:
        return Measured(figure, ended.seconds, failure=f"not done in {figure.seconds:g} s")
    remarks = "\n".join(ended.err.strip().splitlines()[-LINES_OF_REMARKS:])
    if ended.code != 0:
        return Measured(figure, ended.seconds, failure=remarks or f"exit {ended.code}")
    values = json.loads(ended.out.splitlines()[-1])
    return Measured(figure, ended.seconds, values, remarks=remarks)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reliability.runs")
    parser.add_argument("id")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--seed", type=int, default=Form.seed)
    options = parser.parse_args()
    # Warnings about hostile input are what is to be expected here.
    logging.getLogger("acp").addHandler(logging.NullHandler())
    (figure,) = (each for each in table() if each.id == options.id)
    print(json.dumps(figure.load()(Form(options.short, options.seed))))


if __name__ == "__main__":
    main()
