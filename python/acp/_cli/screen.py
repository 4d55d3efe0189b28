"""What the demo looks like: in a terminal, or as JSON lines.

Owns layout and colours. It knows no message: it is told what kind of thing happened and the words
for it.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Protocol

__all__ = ("JsonScreen", "PlainScreen", "Screen", "open_screen")

_WIDTH = 14
"""Columns of the label before each line."""


class Screen(Protocol):
    """Shows what happens, as it happens."""

    def show(self, event: str, label: str, text: str, /, **members: Any) -> None:
        """Shows one thing that happened.

        `members` are for machines, `label` and `text` for people.
        """
        ...

    def stream(self, event: str, label: str, text: str) -> None:
        """Shows the next part of a text; parts with the same label in a row are one text."""
        ...


class JsonScreen:
    """One JSON object per line: `event`, and what belongs to it."""

    def show(self, event: str, label: str, text: str, /, **members: Any) -> None:
        """Writes `event` and `members`."""
        del label, text
        self._write({"event": event, **members})

    def stream(self, event: str, label: str, text: str) -> None:
        """Writes `event` and `text`."""
        del label
        self._write({"event": event, "text": text})

    def _write(self, members: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(members, ensure_ascii=False) + "\n")
        sys.stdout.flush()


class PlainScreen:
    """Lines with a label before them."""

    def __init__(self) -> None:
        self._streaming = ""

    def show(self, event: str, label: str, text: str, /, **members: Any) -> None:
        """Writes `label` and `text`; further lines of the text are indented."""
        del members
        self._end_stream()
        first, *rest = text.split("\n")
        self._write(f"{label:<{_WIDTH}}", self._style(event))
        self._write(first + "\n", "")
        for line in rest:
            self._write(" " * _WIDTH + line + "\n", self._line_style(line))

    def stream(self, event: str, label: str, text: str) -> None:
        """Writes `text` on, behind `label` when it is a new text."""
        if self._streaming != label:
            self._end_stream()
            self._write(f"{label:<{_WIDTH}}", self._style(event))
            self._streaming = label
        self._write(text, "")

    def _end_stream(self) -> None:
        if self._streaming:
            self._write("\n", "")
            self._streaming = ""

    def _write(self, text: str, style: str) -> None:
        del style
        sys.stdout.write(text)
        sys.stdout.flush()

    def _style(self, event: str) -> str:
        return _STYLES.get(event, "bold")

    def _line_style(self, line: str) -> str:
        return {"+": "green", "-": "red"}.get(line[:1], "")


class RichScreen(PlainScreen):
    """The same lines in colour."""

    def __init__(self, console: Any) -> None:
        super().__init__()
        self._console = console

    def _write(self, text: str, style: str) -> None:
        self._console.print(
            text, end="", style=style or None, markup=False, highlight=False, soft_wrap=True
        )


_STYLES = {
    "request": "bold cyan",
    "notification": "bold cyan",
    "response": "bold green",
    "state": "dim",
    "thought": "dim",
    "text": "bold",
    "plan": "bold magenta",
    "tool_call": "bold yellow",
    "permission": "bold yellow",
    "passed": "bold green",
    "failed": "bold red",
}


def open_screen() -> Screen:
    """The screen for people: in colour when rich is there."""
    try:
        from rich.console import Console
    except ImportError:
        return PlainScreen()
    return RichScreen(Console())
