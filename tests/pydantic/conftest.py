"""What is collected here: `cases` need pydantic in the process from the start or from a point that
they choose, so they run in processes of their own, started by `test_orders.py`.
"""

from __future__ import annotations

import importlib.util

collect_ignore = ["cases"]
if importlib.util.find_spec("pydantic") is None:
    collect_ignore.append("test_orders.py")
