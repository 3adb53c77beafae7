"""Lakes and tables for tests of `sqlext.local`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import sqlext.local
from sqlext.errors import SqlextError
from sqlext.local import LocalCatalog, LocalTable


def open_lake(folder: Path, **options: str) -> LocalCatalog:
    """The catalog in a folder, with the namespace `db`; its tables do not look after themselves."""
    lake = sqlext.local.open(folder / "warehouse", {"care": "none", **options})
    assert isinstance(lake, LocalCatalog)
    lake.create_namespace("db")
    return lake


def created(
    lake: LocalCatalog, columns: str, properties: Mapping[str, str] | None = None, clauses: str = "", name: str = "db.t"
) -> LocalTable:
    """The new table of these columns."""
    pairs = ", ".join(f"'{key}'='{value}'" for key, value in (properties or {}).items())
    text = f"CREATE TABLE {name} ({columns}) {clauses} {f'TBLPROPERTIES ({pairs})' if pairs else ''}"
    return lake.create_table(text)


def rows_of(table: LocalTable, **asked: Any) -> list[tuple[Any, ...]]:
    """The rows, sorted by what they look like."""
    return sorted((tuple(row.values()) for row in table.to_arrow(**asked).to_pylist()), key=repr)


@contextmanager
def refused(condition: str, *said: str) -> Iterator[None]:
    """The block ends in an error of this condition, whose message has these parts."""
    with pytest.raises(SqlextError) as caught:
        yield
    assert caught.value.condition == condition, caught.value
    assert all(part in str(caught.value) for part in said), caught.value
