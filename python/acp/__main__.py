"""The command `acp`, also as `python -m acp`."""

from __future__ import annotations

import sys

from acp._cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
