"""Changes by key as one SELECT, which joins source rows with the target rows of their keys to find their operations.

The source is a relation of `__operation` and the table's columns; of the target only key and ordering columns are read.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.spec.row_kind import GIVEN_KIND
from sqlext.spec.row_order import UNORDERED, RowOrder
from sqlext.spec.schema import Schema
from sqlext.sql.lowering.row_order import is_later, last_of, place
from sqlext.sql.lowering.text import selected
from sqlext.sql.tokens.quoting import quote_identifier


def lower_keyed_changes(
    rows: str,
    target: str,
    schema: Schema,
    *,
    one_row_a_key: bool = False,
    one_copy: bool = False,
    sequence: RowOrder = UNORDERED,
    row_ids: bool = False,
    kinds: bool = False,
) -> str:
    """Operation, file, position and columns of every change; with `row_ids` the row id of the replaced row, with
    `kinds` the source's column `GIVEN_KIND`.

    `rows` and `target` are texts of relations. Without `one_row_a_key` all rows are updates, and those of one key go to
    one task, which can find duplicates. A row that precedes the target row by `sequence` is no change. If the target
    has a key more than once, an update replaces each of its rows; with `one_copy` or a `sequence` it replaces one and
    deletes the others.
    """
    keys = [quote_identifier(field.name) for field in schema.identifier_fields]
    ordering = [quote_identifier(name) for name in sequence.columns]
    kept = [quote_identifier(ROW_ID.name)] if row_ids else []
    read = [*keys, *(name for name in ordering if name not in keys), "`_file`", "`_pos`", *kept]
    source = rows if one_row_a_key else f"(SELECT * FROM {rows}\nDISTRIBUTE BY {', '.join(keys)})"
    columns = [
        (_operation(keys, sequence, one_row_a_key=one_row_a_key, one_copy=one_copy), "__operation"),
        ("`__target`.`_file`", "_file"),
        ("`__target`.`_pos`", "_pos"),
        *((f"`__source`.{quote_identifier(field.name)}", field.name) for field in schema.fields),
        *((f"`__target`.{name}", ROW_ID.name) for name in kept),
        *((f"`__source`.`{name}`", name) for name in ([GIVEN_KIND] if kinds else [])),
    ]
    compared = " AND ".join(f"`__target`.{key} = `__source`.{key}" for key in keys)
    joined = (
        f"SELECT {selected(columns)}\nFROM {source} AS `__source`\n"
        f"LEFT OUTER JOIN (SELECT {', '.join(read)} FROM {target}) AS `__target`\nON {compared}"
    )
    return f"SELECT * FROM (\n{joined}\n)\nWHERE `__operation` IS NOT NULL" if one_row_a_key else joined


def _operation(keys: Sequence[str], sequence: RowOrder, *, one_row_a_key: bool, one_copy: bool) -> str:
    """The operation: without target row a delete is none and an update inserts; a refusal stays."""
    of_key = f"PARTITION BY {', '.join(f'`__source`.{key}' for key in keys)}"
    copy = ""
    if one_copy or sequence:
        number = f"row_number() OVER ({of_key} ORDER BY `__target`.`_file`, `__target`.`_pos`)"
        copy = f" WHEN {number} > 1 THEN 1Y"
    if not one_row_a_key:
        return f"CASE WHEN `__target`.`_file` IS NULL THEN 3Y{copy} ELSE 2Y END"
    later = ""
    if sequence:
        stored, given = (
            place(sequence, (f"`{side}`.{quote_identifier(name)}" for name in sequence.columns))
            for side in ("__target", "__source")
        )
        later = f" WHEN {is_later(sequence, f'{last_of(sequence)}({stored}) OVER ({of_key})', given)} THEN NULL"
    return (
        "CASE WHEN `__source`.`__operation` > 3Y THEN `__source`.`__operation`"
        " WHEN `__target`.`_file` IS NULL THEN CASE WHEN `__source`.`__operation` = 2Y THEN 3Y END"
        f"{later}{copy} ELSE `__source`.`__operation` END"
    )
