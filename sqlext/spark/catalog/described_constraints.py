"""Constraints in DESCRIBE: key, NOT NULL, CHECKs, defaults, generated and identity columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlext.properties import KEY_ENFORCED, KEY_RELY
from sqlext.scan.metadata_tables.constraints import required_paths
from sqlext.spec.constraint import check_constraints, generated_columns
from sqlext.spec.identity_column import identity_columns
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.sql.literal import shown_default_text
from sqlext.sql.tokens.quoting import quote_name


def described_constraints(metadata: TableMetadata, schema: Schema) -> Sequence[tuple[str, str, str]]:
    """Rows of `col_name`, `data_type` and `comment` with a blank row and a heading, as Spark's own sections have them;
    none for a table without constraints and defaults."""
    rows = [*_key(metadata, schema), *_required(schema)]
    rows += [(f"Check {check.name}", check.expression, "") for check in check_constraints(metadata.properties)]
    rows += [
        (f"Default of {quote_name((field.name,))}", shown_default_text(field), "")
        for field in schema.fields
        if field.write_default is not None
    ]
    generated = generated_columns(metadata.properties)
    rows += [
        (f"Generated {quote_name((field.name,))}", generated[field.id], "")
        for field in schema.fields
        if field.id in generated
    ]
    identities = identity_columns(metadata.properties)
    rows += [
        (f"Identity {quote_name((field.name,))}", identities[field.id].clause(), "")
        for field in schema.fields
        if field.id in identities
    ]
    return [("", "", ""), ("# Constraints", "", ""), *rows] if rows else []


def _key(metadata: TableMetadata, schema: Schema) -> Iterator[tuple[str, str, str]]:
    if schema.identifier_field_ids:
        said = "ENFORCED" if KEY_ENFORCED.of(metadata.properties) else "NOT ENFORCED"
        if metadata.properties.get(KEY_RELY, "").lower() == "true":
            said += " RELY"
        names = ", ".join(quote_name(schema.column_path(id)) for id in schema.identifier_field_ids)
        yield "Primary Key", names, said


def _required(schema: Schema) -> Iterator[tuple[str, str, str]]:
    names = ", ".join(map(quote_name, required_paths(schema.fields)))
    if names:
        yield "Not Null", names, ""
