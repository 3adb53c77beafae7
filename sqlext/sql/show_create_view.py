"""The text of SHOW CREATE TABLE for a view: a statement that makes the same view again."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.spec.schema import Schema
from sqlext.sql.statements.statement import TableName
from sqlext.sql.tokens.quoting import quote_identifier, quote_name, quote_string


def create_view_text(
    name: TableName, schema: Schema, sql: str, comment: str | None, properties: Mapping[str, str]
) -> str:
    """The statement, one line a column and a clause; the query is as it was written.

    Names in the query mean what they meant when the view was made, if that catalog and namespace are current.
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
