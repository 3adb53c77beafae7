"""The text of SHOW CREATE TABLE: a statement that creates an equal table."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.properties import KEY_ENFORCED
from sqlext.spec.constraint import check_constraints, generated_columns, is_constraint, varchar_lengths
from sqlext.spec.identity_column import identity_columns
from sqlext.spec.metadata.stream_state import settings_of
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.transform import (
    VoidTransform,
)
from sqlext.spec.types import NestedField
from sqlext.sql.layout_terms import partition_term, sort_term, source_name
from sqlext.sql.literal import write_default_text
from sqlext.sql.statements.statement import TableName
from sqlext.sql.syntax.type_text import ddl_type_text
from sqlext.sql.tokens.quoting import quote_identifier, quote_name, quote_string


def create_table_text(name: TableName, metadata: TableMetadata) -> str:
    """The statement, one line per column, clause and property.

    The location is left out, since two tables in one folder would destroy each other, and so are void partition fields.
    Raises UnsupportedError for types and transforms without a spelling in SQL.
    """
    schema, sort_order = metadata.schema(), metadata.sort_order()
    lengths = varchar_lengths(metadata.properties)
    generated = {
        id: f"GENERATED ALWAYS AS {_in_brackets(text)}" for id, text in generated_columns(metadata.properties).items()
    }
    generated |= {id: one.clause() for id, one in identity_columns(metadata.properties).items()}
    lines = [_column(field, lengths, generated.get(field.id)) for field in schema.fields]
    if schema.identifier_field_ids:
        enforced = "ENFORCED" if KEY_ENFORCED.of(metadata.properties) else "NOT ENFORCED"
        lines.append(
            f"PRIMARY KEY ({', '.join(source_name(schema, id) for id in schema.identifier_field_ids)}) {enforced}"
        )
    for check in check_constraints(metadata.properties):
        lines.append(f"CONSTRAINT {quote_identifier(check.name)} CHECK {_in_brackets(check.expression)}")
    clauses = [f"CREATE TABLE {quote_name(name.parts)} (\n  " + ",\n  ".join(lines) + ")", "USING iceberg"]
    terms = [partition_term(schema, f) for f in metadata.spec().fields if not isinstance(f.transform, VoidTransform)]
    if terms:
        clauses.append(f"PARTITIONED BY ({', '.join(terms)})")
    if not sort_order.is_unsorted:
        clauses.append(f"ORDERED BY ({', '.join(sort_term(schema, field) for field in sort_order.fields)})")
    settings = settings_of(metadata.properties)
    properties = {"format-version": str(metadata.format_version), **dict(sorted(settings.items()))}
    properties = {key: text for key, text in properties.items() if not is_constraint(key) and key != KEY_ENFORCED.name}
    comment = properties.pop("comment", None)
    if comment is not None:
        clauses.append(f"COMMENT {quote_string(comment)}")
    pairs = ",\n  ".join(f"{quote_string(key)} = {quote_string(value)}" for key, value in properties.items())
    clauses.append(f"TBLPROPERTIES (\n  {pairs})")
    return "\n".join(clauses)


def _in_brackets(expression: str) -> str:
    """A comment at the end of the text does not take the bracket with it."""
    return f"({expression}\n)" if "--" in expression else f"({expression})"


def _column(field: NestedField, lengths: Mapping[int, int], generated: str | None) -> str:
    required = " NOT NULL" if field.required else ""
    default = "" if field.write_default is None else f" DEFAULT {write_default_text(field)}"
    default = default if generated is None else f" {generated}"
    comment = "" if field.doc is None else f" COMMENT {quote_string(field.doc)}"
    return f"{quote_identifier(field.name)} {ddl_type_text(field.type, field.id, lengths)}{required}{default}{comment}"
