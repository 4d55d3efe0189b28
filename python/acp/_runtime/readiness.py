"""What a runtime tells about a descriptor.

Owns the contract alone; each loop has a class of its own for it.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ("Readiness",)


class Readiness(Protocol):
    """Tells when bytes can be read from one descriptor, or written to another.

    It is made with the descriptor to read and a function that reads it without waiting, and tells
    whether there is anything for who waits.
    """

    @property
    def unattended(self) -> bool:
        """Whether the function is called though no task waits; otherwise `rest` does nothing."""
        ...

    async def readable(self) -> bool:
        """Returns when the function has found something, or the wait was ended.

        It may return before that. False when `rest` ended the wait.
        """
        ...

    def rest(self) -> bool:
        """Ends the wait of the reader, but goes on calling the function.

        False when there was none, and nothing has changed.
        """
        ...

    def watch(self) -> None:
        """Has the function called whenever there are bytes, though nobody waits."""
        ...

    def pause(self) -> None:
        """The function is not called any more until the next wait."""
        ...

    async def writable(self, fd: int) -> None:
        """Returns when the descriptor takes bytes, or the wait was ended."""
        ...

    def end_reading(self) -> None:
        """Ends the wait of the reader: the descriptor is about to be closed."""
        ...

    def end_writing(self, fd: int) -> None:
        """Ends the wait of the writer: the descriptor is about to be closed."""
        ...
