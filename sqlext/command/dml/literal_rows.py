"""Plain literals as Arrow rows in a table's columns, without Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sqlext.command.change.distribution import ordered
from sqlext.command.change.row_level import Target
from sqlext.sql.row_rules import row_rules
from sqlext.sql.tokens.literal_query import LiteralQuery, column_values
from sqlext.write.arrow_schema import schema_to_arrow


def literals_in_columns(target: Target, literals: LiteralQuery, places: Sequence[int]) -> pa.Table | None:
    """The query's rows in the table's columns and sort order; `places` has the index of the query's column for each.

    None if Spark is needed: a literal is not of its column's type, or the table has constraints, or a sort order that
    only Spark can compute.
    """
    metadata = target.table.metadata
    schema = metadata.schema()
    if row_rules(schema, metadata.properties):
        return None
    try:
        columns = [column_values(literals, *pair) for pair in zip(places, schema.fields, strict=True)]
    except ValueError:
        return None
    arrow = schema_to_arrow(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, arrow, strict=True)]
    return ordered(pa.table(arrays, schema=arrow), metadata)
