"""The table of error conditions: each stands in one place, and is one that something raises."""

from __future__ import annotations

import ast
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


def test_no_error_tells_a_name_whose_parts_are_joined_by_dots_alone() -> None:
    """Such a name cannot be pasted back into SQL, if one of its parts needs backticks: `path_text` tells names."""
    found = [
        f"{path.relative_to(PACKAGE)}:{call.lineno}"
        for path in PACKAGE.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        if call.func.id.endswith(("Error", "Conflict")) or call.func.id == "unresolved"
        for part in ast.walk(call)
        if isinstance(part, ast.Attribute) and ast.unparse(part) == "'.'.join"
    ]
    assert found == []
