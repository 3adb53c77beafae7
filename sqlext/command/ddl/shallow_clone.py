"""CREATE TABLE … SHALLOW CLONE: a table whose first snapshot is one of another table, in the files of that one.

First the source gets a tag that keeps the snapshot, then the clone is created. So there is no moment at which an expiry
could take files that the clone reads; a clone that is not created leaves no tag.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.clone_tag import clone_properties, clone_tag
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.rest.rest_catalog import RestCatalog
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.commit.actions.reference_change import CreateReference, DropReference, Retention
from sqlext.commit.actions.registration import RegisterTable, shared_copy
from sqlext.commit.loop.transaction import commit
from sqlext.commit.rules.upsert_rules import require_upsert_rules
from sqlext.errors import AlreadyExistsError, AnalysisError, UnsupportedError
from sqlext.properties import FORMAT_VERSION, as_stored
from sqlext.property_names import require_changeable, require_valid_properties
from sqlext.spark.catalog.session_catalogs import TableVersion, handle_of
from sqlext.spark.catalog.time_travel import travel
from sqlext.spark.query.instant import MICROSECONDS, milliseconds
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spec.metadata.reference import MAIN_BRANCH, SnapshotReference
from sqlext.spec.metadata.snapshot import SnapshotLogEntry
from sqlext.spec.metadata.stream_state import settings_of
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.statements.clone_statement import ShallowClone

# A tag without an age of its own would expire by the table's.
_FOREVER_MS = 2**63 - 1


def shallow_clone(environment: Environment, spark: SparkSession, statement: ShallowClone) -> Outcome:
    """Runs the statement; no rows.

    Raises AlreadyExistsError, NotFoundError for a missing source or version, and UnsupportedError CLONE_NOT_POSSIBLE
    for tables of two catalogs or of a server.
    """
    catalog = environment.catalogs.catalog(statement.name.catalog)
    identifier = TableIdentifier(statement.name.parts[1:-1], statement.name.table)
    if catalog.table_exists(identifier):
        if statement.if_not_exists:
            return Outcome()
        raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=statement.name)
    require_valid_properties(statement.properties)
    require_changeable(statement.properties)
    _require_one_catalog(environment, statement)
    source, version = _version(environment, spark, statement)
    table_uuid = str(uuid.UUID(int=environment.rng.getrandbits(128), version=4))
    metadata = _cloned(statement, source, version, catalog.default_table_location(identifier), table_uuid)
    require_upsert_rules(metadata.schema(), metadata.spec(), metadata.properties, str(statement.name))
    name, tag = statement.source.catalog, clone_tag(table_uuid)
    if version.snapshot is not None:
        keeping = CreateReference(tag, "tag", version.snapshot.snapshot_id, retention=Retention(_FOREVER_MS))
        environment.commit(name, source, keeping)
    try:
        commit(
            catalog,
            identifier,
            RegisterTable(metadata),
            base=None,
            clock=environment.clock,
            rng=environment.rng,
            sleep=environment.sleep,
        )
    except AlreadyExistsError:
        if version.snapshot is not None:
            now = environment.catalogs.load((name, *source.identifier.namespace, source.identifier.name))
            environment.commit(name, now, DropReference(tag, "tag", if_exists=True))
        raise
    return Outcome()


def _require_one_catalog(environment: Environment, statement: ShallowClone) -> None:
    reason = None
    if statement.name.catalog != statement.source.catalog:
        reason = "the two are in different catalogs, of which one may not read or keep the other's files"
    elif isinstance(environment.catalogs.opened.of(statement.name.catalog).catalog, RestCatalog):
        reason = "a server decides itself which files it deletes with a table"
    if reason is not None:
        raise UnsupportedError("CLONE_NOT_POSSIBLE", name=statement.name, source=statement.source, reason=reason)


def _version(
    environment: Environment, spark: SparkSession, statement: ShallowClone
) -> tuple[LoadedTable, TableVersion]:
    """The source, and the version of it that is cloned."""
    place, table = environment.catalogs.locate(statement.source.parts)
    if place.metadata_table is not None or place.read_optimized:
        reason = f"the source is {place.part}"
        raise UnsupportedError("CLONE_NOT_POSSIBLE", name=statement.name, source=statement.source, reason=reason)
    at: dict[str, Any] = dict(place.at)
    if statement.version is not None:
        at["version"] = statement.version
    if statement.timestamp is not None:
        (value,) = lowered_query(spark, f"SELECT CAST({statement.timestamp.text} AS TIMESTAMP)").collect()[0]
        if value is None:
            raise AnalysisError("INVALID_READ_OPTION", option="TIMESTAMP AS OF", value="null", wanted="a time")
        at["timestamp"] = milliseconds(value) * MICROSECONDS
    handle = travel(handle_of(statement.source.catalog, table), table.metadata, at)
    return table, environment.catalogs.version(handle)


def _cloned(
    statement: ShallowClone, source: LoadedTable, version: TableVersion, location: str, table_uuid: str
) -> TableMetadata:
    """The clone's first metadata: one snapshot, the settings of the source, no state of its streams and clones."""
    changed, removed = as_stored(statement.properties)
    changed.pop(FORMAT_VERSION.name, None)
    kept = {key: text for key, text in settings_of(source.metadata.properties).items() if key not in removed}
    copied = shared_copy(replace(source.metadata, properties={**kept, **changed}), location, table_uuid)
    snapshot = version.snapshot
    own = {**copied.properties, **(clone_properties(source.identifier, table_uuid) if snapshot is not None else {})}
    return replace(
        copied,
        current_schema_id=version.schema.schema_id,
        properties=own,
        current_snapshot_id=None if snapshot is None else snapshot.snapshot_id,
        refs={} if snapshot is None else {MAIN_BRANCH: SnapshotReference(snapshot.snapshot_id)},
        snapshots=() if snapshot is None else (snapshot,),
        snapshot_log=() if snapshot is None else (SnapshotLogEntry(snapshot.timestamp_ms, snapshot.snapshot_id),),
        statistics=(),
        partition_statistics=(),
    )
