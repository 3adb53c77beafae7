"""Changes by key as one SELECT: what each finds in the table under its key, and so what it does there.

The rows come as a relation of `__operation` and the table's columns; of the table only the keys are read.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlext.spec.row_lineage import ROW_ID
from sqlext.spec.schema import Schema
from sqlext.sql.lowering.text import selected
from sqlext.sql.quoting import quote_identifier


def lower_keyed_changes(
    rows: str,
    target: str,
    schema: Schema,
    *,
    one_row_a_key: bool = False,
    sequence: Sequence[str] = (),
    row_ids: bool = False,
) -> str:
    """Operation, file, position and columns of every change; with `row_ids` the row id of the row that it replaces.

    `rows` and `target` are texts of relations. Without `one_row_a_key` all rows are updates, and those of one key come
    to one task, which so can tell a key that comes twice. A row whose values in the columns of `sequence` lie before
    those of the row that is there does nothing; a null lies before any value.
    """
    keys = [quote_identifier(field.name) for field in schema.identifier_fields]
    ordering = [quote_identifier(name) for name in sequence]
    kept = [quote_identifier(ROW_ID.name)] if row_ids else []
    read = [*keys, *(name for name in ordering if name not in keys), "`_file`", "`_pos`", *kept]
    source = rows if one_row_a_key else f"(SELECT * FROM {rows}\nDISTRIBUTE BY {', '.join(keys)})"
    columns = [
        (_operation(ordering, one_row_a_key=one_row_a_key), "__operation"),
        ("`__target`.`_file`", "_file"),
        ("`__target`.`_pos`", "_pos"),
        *((f"`__source`.{quote_identifier(field.name)}", field.name) for field in schema.fields),
        *((f"`__target`.{name}", ROW_ID.name) for name in kept),
    ]
    compared = " AND ".join(f"`__target`.{key} = `__source`.{key}" for key in keys)
    joined = (
        f"SELECT {selected(columns)}\nFROM {source} AS `__source`\n"
        f"LEFT OUTER JOIN (SELECT {', '.join(read)} FROM {target}) AS `__target`\nON {compared}"
    )
    return f"SELECT * FROM (\n{joined}\n)\nWHERE `__operation` IS NOT NULL" if one_row_a_key else joined


def _operation(ordering: Sequence[str], *, one_row_a_key: bool) -> str:
    """A delete of no row does nothing, an update of none inserts; what is refused stays so."""
    if not one_row_a_key:
        return "CASE WHEN `__target`.`_file` IS NULL THEN 3Y ELSE 2Y END"
    later = ""
    if ordering:
        stored, given = (", ".join(f"`{side}`.{name}" for name in ordering) for side in ("__target", "__source"))
        later = f" WHEN struct({stored}) > struct({given}) THEN NULL"
    return (
        "CASE WHEN `__source`.`__operation` > 3Y THEN `__source`.`__operation`"
        " WHEN `__target`.`_file` IS NULL THEN CASE WHEN `__source`.`__operation` = 2Y THEN 3Y END"
        f"{later} ELSE `__source`.`__operation` END"
    )
