"""The text of SHOW CREATE TABLE for a view: a statement that creates an equal view."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.spec.schema import Schema
from sqlext.sql.statements.statement import TableName
from sqlext.sql.tokens.quoting import quote_identifier, quote_name, quote_string


def create_view_text(
    name: TableName, schema: Schema, sql: str, comment: str | None, properties: Mapping[str, str]
) -> str:
    """The statement, one line per column and clause; the query is as the user wrote it.

    Names in the query are resolved as in the view only under the catalog and namespace in which it was created.
    """
    columns = []
    for field in schema.fields:
        doc = "" if field.doc is None else f" COMMENT {quote_string(field.doc)}"
        columns.append(quote_identifier(field.name) + doc)
    clauses = [f"CREATE VIEW {quote_name(name.parts)} (\n  " + ",\n  ".join(columns) + ")"]
    if comment is not None:
        clauses.append(f"COMMENT {quote_string(comment)}")
    if properties:
        pairs = [f"{quote_string(key)} = {quote_string(value)}" for key, value in sorted(properties.items())]
        clauses.append("TBLPROPERTIES (\n  " + ",\n  ".join(pairs) + ")")
    return "\n".join([*clauses, f"AS {sql}"])
