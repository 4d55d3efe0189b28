"""The doctor as `python -m acp_doctor`, for where the command `acp` is not."""

from __future__ import annotations

import sys

from acp_doctor import main

if __name__ == "__main__":
    sys.exit(main())
