"""Enforcement of a primary key: a new row may not have the key of another new row or of a remaining row of the table.

New rows are checked after they are written and before the commit, so that a source is evaluated once. The commit
conflicts with concurrent commits that added rows with keys in the range of the new keys.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

import pyarrow as pa
from pyroaring import BitMap64
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType as SparkStruct

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.environment import Environment
from sqlext.commit.rules.merge_rules import has_merge_engine
from sqlext.errors import DataError
from sqlext.properties import KEY_ENFORCED
from sqlext.scan.key_lookup import KeyMatches, find_keys, key_range, lookup_bytes, stored_keys
from sqlext.spark.catalog.data_type import schema_to_spark
from sqlext.spark.catalog.session_catalogs import TableVersion
from sqlext.spark.executor_task import for_executors
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.spec.field_path import path_text
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.spec.types import UuidType
from sqlext.sql.statements.statement import TableName
from sqlext.sql.tokens.quoting import quote_identifier, quote_name
from sqlext.storage.file_io import FileIO
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.distinct_keys import NAMED_KEYS, named_keys, require_distinct


class Target(Protocol):
    """A table at the version that a statement reads; `relation` is its SQL name with a time travel clause for this
    version."""

    @property
    def name(self) -> TableName: ...

    @property
    def table(self) -> LoadedTable: ...

    @property
    def version(self) -> TableVersion: ...

    @property
    def relation(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Removed:
    """Rows that the same commit removes: all, those of the data files `paths`, or those at `positions` of other
    files."""

    everything: bool = False
    paths: frozenset[str] = frozenset()
    positions: Mapping[str, BitMap64] = field(default_factory=dict)


def is_enforced(metadata: TableMetadata) -> bool:
    """Whether the table has a key that is enforced, by its property or because a merge engine keeps one row of a
    key."""
    said = KEY_ENFORCED.of(metadata.properties) or has_merge_engine(metadata.properties)
    return said and bool(metadata.schema().identifier_field_ids)


def have_plain_keys(schema: Schema) -> bool:
    """Whether data files store the key as Spark shows it. A file may lack a column with an initial default; UUIDs are
    bytes."""
    fields = schema.identifier_fields
    return all(field.initial_default is None and not isinstance(field.type, UuidType) for field in fields)


def require_distinct_files(io: FileIO, metadata: TableMetadata, files: Sequence[ContentFile], name: str) -> None:
    """Raises DataError DUPLICATE_KEY if two rows of `files`, which replace all files of the table, have the same
    key."""
    if is_enforced(metadata) and files:
        require_distinct(_new_keys(io, metadata.schema(), files), name)


def require_unique_keys(
    environment: Environment, spark: SparkSession, target: Target, files: Sequence[ContentFile], removed: Removed
) -> Predicate | None:
    """Checks the new rows of `files` against each other and against the remaining rows of the table.

    Returns a predicate for the target rows that may have one of the new keys, for conflict detection; None if no stored
    row was read. Raises DataError DUPLICATE_KEY for a key that `files` have twice, KEY_ALREADY_EXISTS for a key of a
    remaining row.
    """
    metadata = target.table.metadata
    if not is_enforced(metadata) or not files:
        return None
    if removed.everything:
        require_distinct_files(target.version.io, metadata, files, str(target.name))
        return None
    key_ids = metadata.schema().identifier_field_ids
    limits = environment.planning.thresholds
    few = have_plain_keys(metadata.schema()) and sum(file.record_count for file in files) <= limits.checked_key_rows
    if few and environment.plans_all_files(target.version):
        plan = environment.scans.with_positions(target.version, environment.scans.plan(target.version, AlwaysTrue()))
        if plan is not None and lookup_bytes(plan, key_ids) <= limits.checked_key_bytes:
            return _looked_up(environment, target, files, removed)
    _join(spark, target, files, removed)
    return AlwaysTrue()


def _looked_up(environment: Environment, target: Target, files: Sequence[ContentFile], removed: Removed) -> Predicate:
    """Checks on the driver, in the files that may have one of the new keys; returns the range of the new keys."""
    io, schema = target.version.io, target.table.metadata.schema()
    keys = _new_keys(io, schema, files)
    require_distinct(keys, str(target.name))
    read = key_range(keys, schema.identifier_field_ids) or AlwaysTrue()
    plan = environment.scans.with_positions(target.version, environment.scans.plan(target.version, read))
    assert plan is not None, "positions of fewer deletes are found if those of all are"
    matches = find_keys(io, plan, keys, schema.identifier_field_ids)
    rows = _remaining(matches, removed)
    if rows:
        raise DataError("KEY_ALREADY_EXISTS", table=target.name, keys=named_keys(keys.take(pa.array(rows))))
    return read


def _remaining(matches: KeyMatches, removed: Removed) -> list[int]:
    """Indexes of the new keys that a remaining row of the table has."""
    rows: set[int] = set()
    start = 0
    for path, positions in matches.positions.items():
        key_rows = matches.key_rows[start : start + len(positions)]
        start += len(positions)
        if path in removed.paths:
            continue
        gone = removed.positions.get(path, BitMap64())
        rows.update(int(row) for position, row in zip(positions, key_rows, strict=True) if position not in gone)
    return sorted(rows)


def _key_names(schema: Schema) -> list[str]:
    """Unique column names for the key, which are shown in errors."""
    return [path_text(schema.column_path(id)) for id in schema.identifier_field_ids]


def _new_keys(io: FileIO, schema: Schema, files: Sequence[ContentFile]) -> pa.Table:
    ids, names = schema.identifier_field_ids, _key_names(schema)
    return pa.concat_tables(stored_keys(io, file.file_path, ids, names) for file in files)


# Checks by Spark


def _places(schema: Schema) -> list[str]:
    """Names of the key columns in queries, by index, since the name of a nested field would need nested quotes."""
    return [f"key_{place}" for place in range(len(schema.identifier_field_ids))]


def _join(spark: SparkSession, target: Target, files: Sequence[ContentFile], removed: Removed) -> None:
    schema = target.table.metadata.schema()
    names, shown = _places(schema), _key_names(schema)
    columns = [F.col(quote_identifier(name)) for name in names]
    new = _key_rows(spark, target.version.io, schema, files)
    repeated = new.groupBy(*columns).count().where("count > 1").select(*columns).limit(NAMED_KEYS).toArrow()
    if repeated.num_rows:
        raise DataError("DUPLICATE_KEY", table=target.name, keys=named_keys(repeated.rename_columns(shown)))
    paths = (quote_name(schema.column_path(id)) for id in schema.identifier_field_ids)
    listed = ", ".join(f"{path} AS {quote_identifier(name)}" for path, name in zip(paths, names, strict=True))
    stored = spark.sql(f"SELECT {listed}, `_file`, `_pos` FROM {target.relation}")
    found = stored.join(new, names, "left_semi")
    live = for_executors(spark.sparkContext, _without(removed))
    there = found.mapInArrow(live, found.schema).select(*columns).limit(NAMED_KEYS).toArrow()
    if there.num_rows:
        raise DataError("KEY_ALREADY_EXISTS", table=target.name, keys=named_keys(there.rename_columns(shown)))


def _key_rows(spark: SparkSession, io: FileIO, schema: Schema, files: Sequence[ContentFile]) -> DataFrame:
    """The keys of `files`, read by Spark's executors."""
    keys = Schema(schema.identifier_fields)
    ids, names = schema.identifier_field_ids, _places(schema)
    texts = frozenset(name for name, field in zip(names, keys.fields, strict=True) if isinstance(field.type, UuidType))
    arrow = pa.schema([(name, one.type) for name, one in zip(names, schema_to_arrow(keys), strict=True)])

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for path in (path for batch in batches for path in batch.column(0).to_pylist()):
            stored = stored_keys(io, path, ids, names).cast(arrow)
            for name in texts:
                values = [str(UUID(bytes=value)) for value in stored.column(name).to_pylist()]
                stored = stored.set_column(names.index(name), name, pa.array(values))
            yield from stored.to_batches()

    described = json.loads(json.dumps(schema_to_spark(keys)))
    for column, name in zip(described["fields"], names, strict=True):
        column["name"] = name
    struct = SparkStruct.fromJson(described)
    paths = spark.createDataFrame([(file.file_path,) for file in files], "path string")
    return paths.repartition(min(len(files), 200)).mapInArrow(for_executors(spark.sparkContext, read), struct)


def _without(removed: Removed) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    paths, positions = removed.paths, dict(removed.positions)

    def keep(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            places = zip(batch.column("_file").to_pylist(), batch.column("_pos").to_pylist(), strict=True)
            kept = [file not in paths and position not in positions.get(file, ()) for file, position in places]
            yield batch.filter(pa.array(kept, pa.bool_()))

    return keep
