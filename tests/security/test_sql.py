"""No SQL is built from values: what the catalog's database is told has its values beside the statement."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from catalog.made_tables import create, land
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.sql.database import Row, SqliteDatabase, Step
from sqlext.catalog.sql.records import CatalogRecords
from sqlext.catalog.sql.sql_catalog import SqlCatalog
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.sql.tokens.quoting import quote_identifier, quote_string, unquote_identifier, unquote_string
from sqlext.storage.file_io import LocalFileIO
from unit.spec.metadata.test_view_metadata import view

CANARY = "k4n4rienvogel"
HOSTILE = f"{CANARY}'; DROP TABLE iceberg_tables; --"
NAMESPACE = (HOSTILE,)
TABLE, OTHER, VIEW = (TableIdentifier(NAMESPACE, f"{HOSTILE}{number}") for number in range(3))


class RecordingDatabase(SqliteDatabase):
    """Keeps the statements that it is given, without their values."""

    def __init__(self, path: Path) -> None:
        super().__init__("lake", str(path))
        self.statements: list[str] = []
        self.values = 0

    def rows(self, query: str, *values: object) -> list[Row]:
        self._note(query, values)
        return super().rows(query, *values)

    def change(self, *steps: Step, required: int = 0) -> list[int]:
        for statement, values in steps:
            self._note(statement, values)
        return super().change(*steps, required=required)

    def _note(self, statement: str, values: object) -> None:
        self.statements.append(statement)
        self.values += CANARY in repr(values)


def test_names_and_values_are_never_part_of_a_statement(tmp_path: Path) -> None:
    """Each thing that a catalog can do, with names and values that would be statements of their own."""
    database = RecordingDatabase(tmp_path / "catalog.db")
    records = CatalogRecords(database, HOSTILE, create=True, upgrade=True)
    io = LocalFileIO()
    catalog = SqlCatalog(HOSTILE, str(tmp_path / "w"), io, records, undrop_retention_ms=10**9, clock=lambda: 10**12)
    catalog.create_namespace(NAMESPACE, {HOSTILE: HOSTILE})
    catalog.set_namespace_properties(NAMESPACE, {HOSTILE: f"{HOSTILE}2"})
    table = create(catalog, TABLE, properties={"note": HOSTILE})
    land(catalog, ChangeProperties({"note": f"{HOSTILE}2"}), TABLE, table)
    location = catalog.views.default_view_location(VIEW)
    catalog.views.commit_view(VIEW, None, replace(view(), location=location))
    catalog.rename_table(TABLE, OTHER)
    assert catalog.list_tables(NAMESPACE) == (OTHER,)
    assert catalog.views.list_views(NAMESPACE) == (VIEW,)
    assert catalog.list_namespaces() == (NAMESPACE,)
    assert catalog.load_namespace(NAMESPACE)[HOSTILE] == f"{HOSTILE}2"
    assert catalog.load_table(OTHER).metadata.properties["note"] == f"{HOSTILE}2"
    catalog.drop_table(OTHER, purge=False)
    catalog.undrop_table(OTHER)
    catalog.drop_table(OTHER, purge=True)
    catalog.views.drop_view(VIEW)
    catalog.remove_namespace_properties(NAMESPACE, frozenset({HOSTILE}))
    assert catalog.drop_namespace(NAMESPACE, cascade=True)
    assert database.values > 20
    assert [statement for statement in database.statements if CANARY in statement] == []
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"iceberg_tables", "iceberg_namespace_properties"} <= tables


@given(st.text())
def test_a_name_in_sql_is_one_identifier(name: str) -> None:
    """Backticks come in pairs within it, so that none ends it."""
    quoted = quote_identifier(name)
    assert quoted[0] == quoted[-1] == "`"
    assert "`" not in quoted[1:-1].replace("``", "")
    assert unquote_identifier(quoted) == name


@given(st.text())
def test_a_text_in_sql_is_one_literal(text: str) -> None:
    """Spark's lexer ends it at the first quote that no backslash is before, whatever its settings."""
    literal = quote_string(text)
    assert re.fullmatch(r"'(?:[^'\\]|\\.)*'", literal, flags=re.DOTALL)
    assert unquote_string(literal) == text
