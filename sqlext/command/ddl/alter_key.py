"""ALTER TABLE … ADD, MODIFY and DROP PRIMARY KEY; stored rows must satisfy a new key."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.change.row_level import Target, load_whole_target
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.commit.actions.key_change import AddKey, DropKey
from sqlext.commit.rules.bucket_layout import bucket_count
from sqlext.commit.rules.upsert_rules import require_upsert_rules
from sqlext.errors import AnalysisError, DataError
from sqlext.properties import KEY_ENFORCED, KEY_RELY
from sqlext.spec.field_path import path_text
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.schema_change import RequireIdentifierFields, changed_schema
from sqlext.spec.types import NestedField
from sqlext.sql.statements.statement import AddPrimaryKey, DropPrimaryKey
from sqlext.sql.tokens.quoting import quote_name
from sqlext.write.distinct_keys import NAMED_KEYS, named_keys


def add_primary_key(environment: Environment, spark: SparkSession, statement: AddPrimaryKey) -> Outcome:
    """Runs the statement; no rows.

    Raises DataError NULL_IN_REQUIRED_COLUMN if a key column of a stored row is null, DUPLICATE_KEY if two rows have the
    same key and it is ENFORCED.
    """
    target = load_whole_target(environment, spark, statement.table)
    metadata = target.table.metadata
    if target.destination.branch != MAIN_BRANCH:
        raise AnalysisError("INVALID_PRIMARY_KEY", reason="a key belongs to the whole table. Name no branch")
    paths = tuple((name,) for name in statement.columns)
    change = RequireIdentifierFields(paths)
    schema = changed_schema(metadata.schema(), (change,), metadata.last_column_id, metadata.format_version)
    require_upsert_rules(schema, metadata.spec(), metadata.properties, str(target.name))
    optional = [field for field in schema.identifier_fields if not metadata.schema().field(field.id).required]
    if statement.modifies and bucket_count(metadata) is not None:
        reason = f"the rows of {target.name} are divided into buckets by the current key. Make a new table"
        raise AnalysisError("INVALID_PRIMARY_KEY", reason=reason)
    _require_no_other_branch(target, optional)
    for field in optional:
        _require_values(spark, target, schema.column_path(field.id))
    if statement.enforced:
        _require_distinct(spark, target, [schema.column_path(id) for id in schema.identifier_field_ids])
    said = ((KEY_ENFORCED.name, statement.enforced), (KEY_RELY, statement.rely))
    snapshot = target.version.snapshot
    action = AddKey(
        paths,
        {name: "true" for name, on in said if on},
        None if snapshot is None else snapshot.snapshot_id,
        replaces=statement.modifies,
    )
    environment.commit(target.name.catalog, target.table, action)
    return Outcome()


def drop_primary_key(environment: Environment, spark: SparkSession, statement: DropPrimaryKey) -> Outcome:
    """Runs the statement; no rows. Raises AnalysisError for a table without a key, unless IF EXISTS."""
    table = environment.catalogs.load(statement.table.parts)
    if not table.metadata.schema().identifier_field_ids:
        if statement.if_exists:
            return Outcome()
        raise AnalysisError("INVALID_PRIMARY_KEY", reason=f"{statement.table} has no key to drop. Write IF EXISTS")
    environment.commit(statement.table.catalog, table, DropKey())
    return Outcome()


def _require_no_other_branch(target: Target, optional: list[NestedField]) -> None:
    """Raises AnalysisError if key columns become required and other branches exist, whose rows are not checked."""
    branches = sorted(
        name for name, ref in target.table.metadata.refs.items() if ref.type == "branch" and name != MAIN_BRANCH
    )
    if optional and branches:
        reason = f"rows of the branch {branches[0]} may have null in {optional[0].name}. Drop the branch first"
        raise AnalysisError("INVALID_PRIMARY_KEY", reason=reason)


def _require_values(spark: SparkSession, target: Target, path: tuple[str, ...]) -> None:
    if spark.sql(f"SELECT 1 FROM {target.relation} WHERE {quote_name(path)} IS NULL LIMIT 1").collect():
        raise DataError("NULL_IN_REQUIRED_COLUMN", column=path_text(path), table=target.name)


def _require_distinct(spark: SparkSession, target: Target, paths: list[tuple[str, ...]]) -> None:
    listed = ", ".join(map(quote_name, paths))
    grouped = f"SELECT {listed} FROM {target.relation} GROUP BY {listed} HAVING count(*) > 1 LIMIT {NAMED_KEYS}"
    repeated = spark.sql(grouped).toArrow()
    if repeated.num_rows:
        raise DataError("DUPLICATE_KEY", table=target.name, keys=named_keys(repeated))
