"""All `cases`, in processes that import pydantic before `acp` and behind it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "cases"


@pytest.mark.parametrize("first", ["pydantic", "acp"])
def test_objects_are_models_to_programs_that_use_pydantic(first: str) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider"),
            *(f"--confcutdir={CASES}", CASES),
        ],
        env={**os.environ, "ACP_TESTS_IMPORT_FIRST": first},
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
