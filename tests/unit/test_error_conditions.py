"""The table of error conditions: each stands in one place, and is one that something raises."""

from __future__ import annotations

from pathlib import Path

import sqlext
from sqlext.error_conditions import CONDITIONS, TABLES

PACKAGE = Path(str(sqlext.__file__)).parent
SHIM = PACKAGE.parent / "jvm-shim"


def test_no_condition_stands_in_two_tables() -> None:
    assert sum(len(table) for table in TABLES) == len(CONDITIONS)


def test_every_condition_is_raised_somewhere() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if "error_conditions" not in path.parts]
    texts = "\n".join(path.read_text() for path in [*modules, *SHIM.rglob("*.scala")])
    assert [name for name in CONDITIONS if f'"{name}"' not in texts] == []
