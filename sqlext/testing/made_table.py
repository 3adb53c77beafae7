"""Tables for tests: columns, key and rows in one call."""

from __future__ import annotations

import inspect
import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import csv

from sqlext.local.given_rows import names_of
from sqlext.local.local_catalog import LocalCatalog
from sqlext.local.local_table import LocalTable
from sqlext.sql.tokens.quoting import quote_identifier, quote_name, quote_string
from sqlext.sql.tokens.token_cursor import TokenCursor


def make_table(
    lake: LocalCatalog,
    columns: str | pa.Schema,
    *,
    name: str,
    key: str | Sequence[str] = (),
    rows: Any = None,
    partitioned_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
) -> LocalTable:
    """Creates a table, with its namespace, and commits `rows` to it.

    `columns` are those of a CREATE TABLE, such as `id BIGINT, buyer STRING`, with any constraints, or an Arrow schema.
    `key` has the columns of the primary key, `partitioned_by` terms of SQL. `rows` are a list of dictionaries, where a
    column that only some lack is null; what `LocalTable.append` takes; a DataFrame of Spark; or a text block of CSV
    with a line of column names, where nothing between commas is null and `""` an empty text. Into a table with a key
    they are upserted.

    Raises as `LocalCatalog.create_table` and `LocalTable.upsert`, and ValueError for CSV that does not fit the columns.

        >>> from sqlext.testing import TemporaryCatalog, make_table
        >>> lake = TemporaryCatalog.within(folder).open()
        >>> rows = '''
        ...     id,buyer,paid
        ...     1,Ada,19.90
        ...     2,,5
        ... '''
        >>> columns = "id BIGINT, buyer STRING, paid DECIMAL(9, 2)"
        >>> orders = make_table(lake, columns, name="db.orders", key="id", rows=rows)
        >>> orders.to_arrow(where="buyer IS NULL").to_pylist()
        [{'id': 2, 'buyer': None, 'paid': Decimal('5.00')}]
    """
    parts = _parts(name)
    for depth in range(1, len(parts)):
        lake.create_namespace(quote_name(parts[:depth]))
    by = names_of(key)
    if isinstance(columns, str):
        table = lake.create_table(_statement(parts, columns, by, partitioned_by, properties or {}))
    else:
        table = lake.create_table(
            quote_name(parts), columns, primary_key=by, partitioned_by=partitioned_by, properties=properties
        )
    if rows is not None:
        given = _given(rows, table)
        _ = table.upsert(given) if table.key else table.append(given)
    return table


def _parts(name: str) -> tuple[str, ...]:
    cursor = TokenCursor(name)
    parts = tuple(cursor.dotted_name())
    cursor.expect_end()
    return parts


def _statement(
    parts: Sequence[str], columns: str, key: Sequence[str], partitioned_by: Sequence[str], properties: Mapping[str, str]
) -> str:
    primary_key = f", PRIMARY KEY ({', '.join(map(quote_identifier, key))})" if key else ""
    clauses = [f"CREATE TABLE {quote_name(tuple(parts))} ({columns}{primary_key})"]
    if partitioned_by:
        clauses.append(f"PARTITIONED BY ({', '.join(partitioned_by)})")
    if properties:
        pairs = (f"{quote_string(name)} = {quote_string(value)}" for name, value in properties.items())
        clauses.append(f"TBLPROPERTIES ({', '.join(pairs)})")
    return "\n".join(clauses)


def _given(rows: Any, table: LocalTable) -> Any:
    if isinstance(rows, str):
        return _of_csv(rows, table.schema)
    if type(rows).__module__.startswith("pyspark.sql"):
        return rows.toArrow()
    if isinstance(rows, Sequence) and all(isinstance(row, Mapping) for row in rows):
        names = dict.fromkeys(name for row in rows for name in row)
        return [{name: row.get(name) for name in names} for row in rows]
    return rows


def _of_csv(text: str, schema: pa.Schema) -> pa.Table:
    types = {field.name: field.type for field in schema}
    lines = "\n".join(line.strip() for line in inspect.cleandoc(text).splitlines() if line.strip())
    convert = csv.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    if not lines:
        raise ValueError("the CSV has no line of column names")
    names = lines.partition("\n")[0].split(",")
    unknown = [name for name in names if name.strip('"') not in types]
    if unknown:
        raise ValueError(f"the table has no column {', '.join(unknown)}, which the CSV names in its first line")
    try:
        return csv.read_csv(io.BytesIO(lines.encode()), convert_options=convert)
    except pa.ArrowException as error:
        raise ValueError(f"the CSV does not fit the columns of the table: {error}") from error
