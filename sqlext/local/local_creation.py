"""CREATE TABLE without Spark: SQL text, or columns as an Arrow schema, to the commit of a new table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.check_definition import check_properties
from sqlext.command.ddl.create_table import looking_after_itself
from sqlext.command.ddl.table_definition import define_table
from sqlext.command.environment import Environment
from sqlext.command.stored_values import stored_values
from sqlext.commit.actions.table_creation import CreateTable as CreateTableAction
from sqlext.commit.loop.transaction import commit
from sqlext.errors import AlreadyExistsError, AnalysisError, UnsupportedError
from sqlext.local.row_condition import row_condition
from sqlext.local.sessionless import NO_SESSION
from sqlext.spark.catalog.data_type import require_spark_types
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField
from sqlext.sql.parser import parse
from sqlext.sql.row_rules import require_no_identity_in_checks, require_plain_check
from sqlext.sql.statements.provider import require_provider
from sqlext.sql.statements.statement import CreateTable
from sqlext.sql.tokens.plain_literal import column_value, read_literal
from sqlext.sql.tokens.quoting import quote_identifier, quote_name, quote_string
from sqlext.write.arrow_schema import type_to_arrow

_PLAIN = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.date32(): "DATE",
    pa.string(): "STRING",
    pa.large_string(): "STRING",
    pa.string_view(): "STRING",
    pa.binary(): "BINARY",
    pa.large_binary(): "BINARY",
    pa.binary_view(): "BINARY",
}


def create_by_text(environment: Environment, catalog: str, text: str) -> tuple[str, ...]:
    """Runs a CREATE TABLE, whose names are those of `catalog`; returns the table's name with the catalog's.

    Raises as the statement in Spark, and UnsupportedError LOCAL_NEEDS_SPARK for another statement, a query, a DEFAULT
    that is no literal, or a CHECK that is not tested here.
    """
    statement = parse(text, catalogs=(catalog,), current=(catalog,))
    if not isinstance(statement, CreateTable):
        raise _refused("The statement", "only CREATE TABLE is run here")
    if statement.as_select is not None or statement.or_replace:
        raise _refused(f"CREATE TABLE {statement.name}", "it replaces a table, or has a query")
    _create(environment, statement)
    return statement.name.parts


def create_of_columns(
    environment: Environment,
    catalog: str,
    name: Sequence[str],
    schema: pa.Schema,
    primary_key: Sequence[str],
    partitioned_by: Sequence[str],
    properties: Mapping[str, str],
) -> tuple[str, ...]:
    """Creates a table with the columns of an Arrow schema; see `create_by_text`. Raises UnsupportedError
    UNSUPPORTED_TYPE for a column of a type that Spark has not."""
    columns = [
        f"{quote_identifier(one.name)} {_type_text(one.type)}{'' if one.nullable else ' NOT NULL'}" for one in schema
    ]
    if primary_key:
        columns.append(f"PRIMARY KEY ({', '.join(map(quote_identifier, primary_key))})")
    clauses = [f"CREATE TABLE {quote_name((catalog, *name))} ({', '.join(columns)})"]
    if partitioned_by:
        clauses.append(f"PARTITIONED BY ({', '.join(partitioned_by)})")
    if properties:
        pairs = (f"{quote_string(key)} = {quote_string(value)}" for key, value in properties.items())
        clauses.append(f"TBLPROPERTIES ({', '.join(pairs)})")
    return create_by_text(environment, catalog, "\n".join(clauses))


def _type_text(type: pa.DataType) -> str:
    plain = _PLAIN.get(type)
    if plain is not None:
        return plain
    if pa.types.is_decimal(type):
        return f"DECIMAL({type.precision}, {type.scale})"
    if pa.types.is_timestamp(type):
        return "TIMESTAMP_NTZ" if type.tz is None else "TIMESTAMP_LTZ"
    if pa.types.is_struct(type):
        return f"STRUCT<{', '.join(f'{quote_identifier(one.name)}: {_type_text(one.type)}' for one in type)}>"
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return f"ARRAY<{_type_text(type.value_type)}>"
    if pa.types.is_map(type):
        return f"MAP<{_type_text(type.key_type)}, {_type_text(type.item_type)}>"
    raise UnsupportedError("UNSUPPORTED_TYPE", type=type, reason="Spark has no such type; write CREATE TABLE as text")


def _create(environment: Environment, statement: CreateTable) -> None:
    name = statement.name
    require_provider(name, statement.provider)
    defaults = environment.catalogs.opened.of(name.catalog).table_defaults
    statement = replace(statement, properties={**defaults, **statement.properties})
    catalog = environment.catalogs.catalog(name.catalog)
    identifier = TableIdentifier(name.parts[1:-1], name.table)
    if catalog.table_exists(identifier):
        if statement.if_not_exists:
            return
        raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=name)
    if any(column.generated_text is not None for column in statement.columns):
        raise _refused(f"CREATE TABLE {name}", "it has a generated column, whose expression Spark tests")
    definition = define_table(statement, None, "TIMESTAMP_LTZ", _default)
    require_spark_types(definition.schema)
    checks = check_properties(NO_SESSION, statement.checks, definition.schema, require=_require_check)
    definition = replace(definition, properties={**definition.properties, **checks})
    require_no_identity_in_checks(definition.schema, definition.properties)
    if environment.catalogs.opened.of(name.catalog).cares_for_keyed_tables:
        definition = looking_after_itself(definition)
    action = CreateTableAction(
        schema=definition.schema,
        spec=definition.spec,
        sort_order=definition.sort_order,
        properties=definition.properties,
        format_version=definition.format_version,
        location=statement.location or catalog.default_table_location(identifier),
    )
    commit(
        catalog,
        identifier,
        action,
        base=None,
        clock=environment.clock,
        rng=environment.rng,
        sleep=environment.sleep,
        queue=environment.queue,
    )


def _require_check(_: Any, name: str, expression: str, schema: Schema) -> None:
    require_plain_check(name, expression, schema)
    row_condition(expression, schema, f"The CHECK {name},")


def _default(column: NestedField, text: str) -> Any:
    """The stored value of a DEFAULT. Raises AnalysisError INVALID_DEFAULT_VALUE, UnsupportedError
    LOCAL_NEEDS_SPARK."""
    if text.upper() == "NULL":
        return None
    found = read_literal(text, 0)
    if found is None or found[1] != len(text):
        raise _refused(f"The default {text} of {column.name}", "it is no plain literal")
    try:
        value = column_value(found[0], column)
    except ValueError:
        reason = f"it is not of the type {column.type}"
        raise AnalysisError("INVALID_DEFAULT_VALUE", value=text, column=column.name, reason=reason) from None
    (stored,) = stored_values([pa.array([value], type_to_arrow(column.type))], [column], "the new default")
    return stored


def _refused(what: str, reason: str) -> UnsupportedError:
    return UnsupportedError("LOCAL_NEEDS_SPARK", what=what, reason=reason)
