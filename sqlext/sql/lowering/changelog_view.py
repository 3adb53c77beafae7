"""The changes of rows as Iceberg's procedure `create_changelog_view` shows them, as a SELECT over `lower_changes`.

A stored changelog may tell of updates by the table's own key. They are a delete and an insert first, of which updates
by any identifier columns are made.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlext.spec.field_path import FieldPath
from sqlext.spec.schema import Schema
from sqlext.sql.lowering.changes import (
    CHANGE_TYPE,
    DELETE,
    INSERT,
    ORDINAL,
    SNAPSHOT_ID,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    with_updates,
)
from sqlext.sql.lowering.compared_value import compared_columns, compared_value
from sqlext.sql.tokens.quoting import quote_identifier, quote_name

_OF_CHANGES = f"`{CHANGE_TYPE}`, `{ORDINAL}`, `{SNAPSHOT_ID}`"


def lower_rows(changes: str, schema: Schema) -> str:
    """Deletes and inserts of each snapshot."""
    kind = (
        f"CASE `{CHANGE_TYPE}` WHEN '{UPDATE_BEFORE}' THEN '{DELETE}' WHEN '{UPDATE_AFTER}' THEN '{INSERT}'"
        f" ELSE `{CHANGE_TYPE}` END"
    )
    columns = ", ".join(_columns(schema))
    return f"SELECT {columns}, {kind} AS `{CHANGE_TYPE}`, `{ORDINAL}`, `{SNAPSHOT_ID}` FROM ({changes})"


def lower_updates(changes: str, schema: Schema, identifiers: Sequence[FieldPath]) -> str:
    """Deletes and inserts of each snapshot. One row that it deletes and one that it inserts are the images of an
    update, if they are the only ones with their `identifiers`."""
    fields = ((quote_name(path), schema.field_at(path)) for path in identifiers)
    keys = [name if field is None else compared_value(name, field.type) for name, field in fields]
    return with_updates(lower_rows(changes, schema), _columns(schema), keys)


def lower_net_rows(changes: str, schema: Schema) -> str:
    """The rows that the snapshots together delete or insert: of equal rows, inserts and deletes cancel each other out.

    What is left of equal rows has the ordinal and snapshot of the first change since they last did (Iceberg:
    RemoveNetCarryoverIterator).
    """
    columns = _columns(schema)
    of_row = f"PARTITION BY {', '.join(compared_columns(columns, schema))}"
    in_order = f"{of_row} ORDER BY `{ORDINAL}`, `{CHANGE_TYPE}` ROWS UNBOUNDED PRECEDING"
    sign = f"if(`{CHANGE_TYPE}` = '{INSERT}', 1L, -1L)"
    numbered = (
        f"SELECT *, row_number() OVER ({of_row} ORDER BY `{ORDINAL}`, `{CHANGE_TYPE}`) AS `__sqlext_number`,"
        f" sum({sign}) OVER ({in_order}) AS `__sqlext_sum`, sum({sign}) OVER ({of_row}) AS `__sqlext_total`"
        f" FROM ({lower_rows(changes, schema)})"
    )
    cancelled = (
        f"SELECT *, max(if(`__sqlext_sum` = 0, `__sqlext_number`, 0)) OVER ({of_row}) AS `__sqlext_cancelled`"
        f" FROM ({numbered})"
    )
    return (
        f"SELECT {', '.join(columns)}, {_OF_CHANGES} FROM ({cancelled})"
        " LATERAL VIEW explode(array_repeat(0, CAST(abs(`__sqlext_total`) AS INT))) AS `__sqlext_copy`"
        " WHERE `__sqlext_number` = `__sqlext_cancelled` + 1"
    )


def _columns(schema: Schema) -> list[str]:
    return [quote_identifier(field.name) for field in schema.fields]
