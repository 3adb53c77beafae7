"""`attach` with a session that was started without sqlext, in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from session.sessions.own_process import found_by


@pytest.mark.turns(1, pool="own sessions")
@pytest.mark.parametrize("how", ["", "ADD JAR", "of a context", "of a JVM session"])
def test_a_session_that_is_there_already_becomes_whole(
    tmp_path: Path, how: str, shown_error: Callable[[str, str], None]
) -> None:
    found = found_by("late_process.py", str(tmp_path), how)
    for refusal in ("with a stream", "other session", "written in it"):
        message = found[refusal]
        found[refusal] = message.partition("]")[0].removeprefix("[")
        shown_error(found[refusal], message)
    assert found == {
        "with a stream": "SESSION_HAS_STREAMS",
        "same session": True,
        "rows": [[1, "a"], [2, "c"]],
        "many": 100_500,
        "before": [2, 3, "own"],
        "settings": ["5", "io.sqlext.Catalog"],
        "other session": "SESSION_NOT_ATTACHED",
        "written in it": "SESSION_NOT_ATTACHED",
        "other session attached": 2,
        "later session": 1,
    }
