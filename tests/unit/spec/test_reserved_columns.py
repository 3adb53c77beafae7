"""Names of columns that sqlext adds to rows: each is reserved, or chosen different from all present columns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlext.errors import AnalysisError
from sqlext.spec.reserved_columns import HIDDEN_NAMES, WORKING_NAMES, is_reserved, require_writable_names
from sqlext.spec.schema import Schema
from sqlext.spec.schema_change import AddColumn, RenameColumn, changed_schema
from sqlext.spec.types import LongType, NestedField

ROOT = Path(__file__).resolve().parents[3]
# In backticks, or a whole string: `__name` or `_name`, except names of Python.
NAME = re.compile(r"`(__?[a-z][a-z_]*[a-z])`|^(__?[a-z][a-z_]*[a-z])$")
# Relations in generated SQL: qualifiers, which are resolved before columns.
RELATIONS = frozenset({"__source", "__source_mark", "__source_rows", "__target"})
# Fields of an input event, inside a struct.
INSIDE = frozenset({"__corrupt"})
# Suffixes of names of fields, columns, a view and arguments; a folder, an attribute of an exception.
OF_FIELDS = {"_year", "_month", "_day", "_hour", "_bucket", "_trunc", "_count", "_files_count"}
ENDS = frozenset(OF_FIELDS | {"_changes", "_snapshot_id", "_timestamp"})
OTHERS = ENDS | {"_around", "_changelog", "_origin", "_sqlext_bridge", "_sqlext_package"}
SCHEMA = Schema((NestedField(1, "id", LongType()),))


def texts(path: Path) -> Iterator[str]:
    """The string constants of a module, except docstrings and arguments of `fresh_name`."""
    if path.suffix == ".scala":
        yield from re.findall(r'"((?:[^"\\\n]|\\.)*)"', path.read_text())
        return
    tree = ast.parse(path.read_text())
    left_out = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and re.fullmatch(r"(self\.)?_?fresh(_name)?", ast.unparse(call.func)):
            left_out |= {id(node) for node in ast.walk(call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


def names_in_code() -> dict[str, str]:
    """Each name with the files that contain it."""
    files = [*ROOT.glob("sqlext/**/*.py"), *ROOT.glob("jvm-shim/**/*.scala")]
    found = {
        next(filter(None, match.groups())): path.name
        for path in files
        for text in texts(path)
        for match in NAME.finditer(text)
    }
    return {name: file for name, file in found.items() if not name.endswith("__")}


def test_every_name_in_the_code_is_reserved() -> None:
    names = names_in_code()
    assert {"_file", "_pos", "__operation", "__sqlext_went"} <= names.keys()
    free = {name: file for name, file in names.items() if not is_reserved(name)}
    assert free.keys() <= RELATIONS | INSIDE | OTHERS, free


def test_every_reserved_name_is_in_the_code() -> None:
    assert names_in_code().keys() >= WORKING_NAMES


@pytest.mark.parametrize("name", sorted({*HIDDEN_NAMES, *WORKING_NAMES, "__sqlext_x"}))
def test_no_column_gets_a_reserved_name(name: str) -> None:
    for spelled in (name, name.upper()):
        for change in (AddColumn((spelled,), LongType()), RenameColumn(("id",), spelled)):
            with pytest.raises(AnalysisError) as refused:
                changed_schema(SCHEMA, [change], 1, 2)
            assert refused.value.condition == "RESERVED_COLUMN_NAME"
        with pytest.raises(AnalysisError) as refused:
            require_writable_names(["id", spelled], "t")
        assert refused.value.condition == "RESERVED_COLUMN_IN_TABLE"
