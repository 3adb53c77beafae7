"""Branches and tags in ALTER TABLE, as Iceberg spells them, and RESTORE TABLE.

ALTER TABLE name CREATE [OR REPLACE] | REPLACE {BRANCH | TAG} [IF NOT EXISTS] ref
  [AS OF VERSION id] [RETAIN n {DAYS | HOURS | MINUTES}]
  [WITH SNAPSHOT RETENTION [n SNAPSHOTS] [n {DAYS | HOURS | MINUTES}]]
ALTER TABLE name DROP {BRANCH | TAG} [IF EXISTS] ref
RESTORE [TABLE] name [TO] {VERSION AS OF id or name | TIMESTAMP AS OF expression}
"""

from __future__ import annotations

from typing import Literal

from sqlext.sql.statements.statement import CreateReference, DropReference, Restore, TableName
from sqlext.sql.statements.table_resolution import TableResolution
from sqlext.sql.tokens.token_cursor import TokenCursor

_HEADS = (("CREATE",), ("CREATE", "OR", "REPLACE"), ("REPLACE",), ("DROP",))
_MILLISECONDS = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000}


def parse_reference_change(cursor: TokenCursor, table: TableName) -> CreateReference | DropReference | None:
    """The clause after ALTER TABLE and the table's name; None if it is about something else."""
    if not any(cursor.at(*head, kind) for head in _HEADS for kind in ("BRANCH", "TAG")):
        return None
    if cursor.accept("DROP"):
        return _parse_drop(cursor, table)
    create = cursor.accept("CREATE")
    or_replace = create and cursor.accept("OR", "REPLACE")
    if not create:
        cursor.expect("REPLACE")
    kind = _reference_type(cursor)
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    if if_not_exists and (or_replace or not create):
        cursor.refuse("REPLACE with IF NOT EXISTS", "the two contradict each other. Leave one of them out")
    ref = cursor.name(f"a {kind} name")
    snapshot_id = _snapshot_id(cursor) if cursor.accept("AS", "OF", "VERSION") else None
    max_ref_age_ms = _age_ms(cursor) if cursor.accept("RETAIN") else None
    min_snapshots, max_age_ms = _parse_snapshot_retention(cursor, kind)
    cursor.expect_end()
    return CreateReference(
        table,
        kind,
        ref,
        snapshot_id,
        or_replace=or_replace,
        must_exist=not create,
        if_not_exists=if_not_exists,
        max_ref_age_ms=max_ref_age_ms,
        min_snapshots_to_keep=min_snapshots,
        max_snapshot_age_ms=max_age_ms,
    )


def parse_restore(cursor: TokenCursor, tables: TableResolution) -> Restore | None:
    """RESTORE; None for a table that is not of a sqlext catalog."""
    cursor.expect("RESTORE")
    cursor.accept("TABLE")
    table = tables.resolve(cursor.dotted_name("a table name"))
    if table is None:
        return None
    cursor.accept("TO")
    if cursor.accept("TIMESTAMP", "AS", "OF"):
        return Restore(table, timestamp=cursor.slice_to_end("a time"))
    cursor.expect("VERSION", "AS", "OF")
    version = cursor.string() if cursor.peek().kind == "string" else str(_snapshot_id(cursor))
    cursor.expect_end()
    return Restore(table, version=version)


def _parse_drop(cursor: TokenCursor, table: TableName) -> DropReference:
    kind = _reference_type(cursor)
    if_exists = cursor.accept("IF", "EXISTS")
    ref = cursor.name(f"a {kind} name")
    cursor.expect_end()
    return DropReference(table, kind, ref, if_exists)


def _reference_type(cursor: TokenCursor) -> Literal["branch", "tag"]:
    if cursor.accept("BRANCH"):
        return "branch"
    cursor.expect("TAG")
    return "tag"


def _snapshot_id(cursor: TokenCursor) -> int:
    return cursor.integer("the id of a snapshot")


def _age_ms(cursor: TokenCursor) -> int:
    count = cursor.integer("a number of days, hours or minutes")
    word = cursor.peek().word.removesuffix("S")
    if word not in _MILLISECONDS:
        cursor.fail("DAYS, HOURS or MINUTES")
    cursor.position += 1
    return count * _MILLISECONDS[word]


def _parse_snapshot_retention(cursor: TokenCursor, kind: str) -> tuple[int | None, int | None]:
    """The least number of snapshots to keep, and their age in milliseconds; None if not written."""
    if not cursor.at("WITH", "SNAPSHOT", "RETENTION"):
        return None, None
    if kind == "tag":
        cursor.refuse("WITH SNAPSHOT RETENTION of a tag", "a tag holds one snapshot. RETAIN says how long")
    cursor.expect("WITH", "SNAPSHOT", "RETENTION")
    count = None
    if cursor.peek(1).word in ("SNAPSHOT", "SNAPSHOTS"):
        count = cursor.integer("a number of snapshots")
        cursor.position += 1
    return count, None if count is not None and cursor.at_end else _age_ms(cursor)
