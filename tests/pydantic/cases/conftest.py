"""Imports pydantic and `acp` in the order that is asked for, before any case does."""

from __future__ import annotations

import os
import sys

assert not {"acp", "pydantic"} & sys.modules.keys()

if os.environ["ACP_TESTS_IMPORT_FIRST"] == "acp":
    import acp.schema
    import acp.v2.schema

    # The classes have been asked before, and have answered without pydantic.
    assert acp.schema.PlanEntry.model_fields["content"].is_required()
    assert acp.schema.TextContentBlock(text="t").__class__ is acp.schema.TextContentBlock
    import pydantic
else:
    import pydantic
    import pydantic.main

    import acp.schema
    import acp.v2.schema

__all__ = ["acp", "pydantic"]
