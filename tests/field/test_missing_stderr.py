"""An agent that is started without a standard error."""

from __future__ import annotations

import subprocess

import pytest

from tests.field.test_standard_streams import ACTS, LINES, agent, check


@pytest.mark.parametrize("act", ["prints", "writes to the descriptor", "runs what writes"])
def test_the_wire_is_clean_when_stderr_is_closed(act: str) -> None:
    """C29: the private copies of the streams do not take the number of the missing one."""
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *agent("run_agent", ACTS[act])]
    done = subprocess.run(command, input=LINES, stdout=subprocess.PIPE, timeout=30, check=True)
    check(done.stdout)
