"""CREATE TABLE … SHALLOW CLONE: a table whose first snapshot is one of another table, in the files of that one.

First the source gets a tag that keeps the snapshot, then the clone is created. So there is no moment at which an expiry
could take files that the clone reads; a clone that is not created leaves no tag. A clone whose source or tag is gone
once it is there is dropped again.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.clone_tag import clone_properties, clone_tag
from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.commit.actions.reference_change import CreateReference, DropReference, Retention
from sqlext.commit.actions.registration import PLACES, RegisterTable, shared_copy
from sqlext.commit.rules.bucket_layout import require_buckets_kept
from sqlext.commit.rules.upsert_rules import require_upserts_kept
from sqlext.errors import (
    AlreadyExistsError,
    AnalysisError,
    CommitStateUnknown,
    NotFoundError,
    SqlextError,
    UnsupportedError,
    ValidationConflict,
)
from sqlext.properties import FORMAT_VERSION, GC_ENABLED, as_stored
from sqlext.property_names import require_changeable, require_valid_properties
from sqlext.spark.catalog.session_catalogs import TableVersion, handle_of
from sqlext.spark.catalog.time_travel import travel
from sqlext.spark.query.instant import evaluated_time
from sqlext.spec.identity_column import identity_state
from sqlext.spec.metadata.metadata_update import UpgradeFormatVersion
from sqlext.spec.metadata.reference import MAIN_BRANCH, SnapshotReference
from sqlext.spec.metadata.snapshot import SnapshotLogEntry
from sqlext.spec.metadata.stream_state import settings_of
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.statements.clone_statement import ShallowClone

# A tag without an age of its own would expire by the table's.
_FOREVER_MS = 2**63 - 1


def shallow_clone(environment: Environment, spark: SparkSession, statement: ShallowClone) -> Outcome:
    """Runs the statement; no rows.

    Raises AlreadyExistsError, NotFoundError for a missing source, version or namespace, AnalysisError for a property,
    UnsupportedError CLONE_NOT_POSSIBLE for tables of two catalogs or of a server and NOT_IN_TRANSACTION, and
    ValidationConflict CONCURRENT_CHANGE if the source is dropped meanwhile.
    """
    if environment.is_in_transaction:
        raise UnsupportedError("NOT_IN_TRANSACTION", operation="CREATE TABLE … SHALLOW CLONE")
    catalog = environment.catalogs.catalog(statement.name.catalog)
    identifier = TableIdentifier(statement.name.parts[1:-1], statement.name.table)
    if catalog.table_exists(identifier):
        if statement.if_not_exists:
            return Outcome()
        raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=statement.name)
    if not catalog.namespace_exists(identifier.namespace):
        raise CatalogNames(catalog.name).namespace_not_found(identifier.namespace)
    _require_properties(statement)
    _require_one_catalog(catalog, statement)
    source, version = _version(environment, spark, statement)
    table_uuid = str(uuid.UUID(int=environment.rng.getrandbits(128), version=4))
    metadata = _cloned(statement, source, version, catalog.default_table_location(identifier), table_uuid)
    name, tag = statement.source.catalog, clone_tag(table_uuid)
    if version.snapshot is not None:
        keeping = CreateReference(tag, "tag", version.snapshot.snapshot_id, retention=Retention(_FOREVER_MS))
        environment.commit(name, source, keeping)
    try:
        environment.create(catalog, identifier, RegisterTable(metadata))
    except CommitStateUnknown:
        raise
    except (Exception, KeyboardInterrupt):
        if version.snapshot is not None:
            _release(environment, name, source, tag)
        raise
    if version.snapshot is not None:
        _require_kept(catalog, identifier, source, tag, str(statement.source))
    return Outcome()


def _release(environment: Environment, catalog: str, source: LoadedTable, tag: str) -> None:
    """Removes the tag; a failure leaves it, with files that nobody needs."""
    with suppress(SqlextError, OSError):
        now = environment.catalogs.catalog(catalog).load_table(source.identifier)
        environment.commit(catalog, now, DropReference(tag, "tag", if_exists=True))


def _require_kept(catalog: Catalog, clone: TableIdentifier, source: LoadedTable, tag: str, name: str) -> None:
    """Drops the clone unless the source is there and has the tag: it may have been dropped, or given another name,
    before it had the tag or by who did not look for one.

    Raises ValidationConflict CONCURRENT_CHANGE then, and as `Catalog.load_table` if it cannot be told.
    """
    try:
        now = catalog.load_table(source.identifier).metadata
        reason = None
        if now.table_uuid != source.metadata.table_uuid:
            reason = "another table has its name"
        elif tag not in now.refs:
            reason = "it lost the tag of the clone"
    except NotFoundError:
        reason = "it is gone"
    except Exception:
        catalog.drop_table(clone, purge=False)
        raise
    if reason is not None:
        catalog.drop_table(clone, purge=False)
        raise ValidationConflict("CONCURRENT_CHANGE", name=name, reason=reason)


def _require_properties(statement: ShallowClone) -> None:
    """Raises AnalysisError, TABLE_PROPERTY_REFUSED for one of those that a clone has not of its own choice."""
    require_valid_properties(statement.properties)
    require_changeable(statement.properties)
    for name, value in statement.properties.items():
        if name in PLACES:
            reason, way_out = "a clone is made in its own folder", "Set it by ALTER TABLE once the clone is there"
        elif name == GC_ENABLED.name and GC_ENABLED.of(statement.properties):
            reason = "the files of a new clone are those of another table"
            way_out = "Leave it out, and set it by ALTER TABLE once the clone needs none of them"
        else:
            continue
        raise AnalysisError("TABLE_PROPERTY_REFUSED", name=name, value=value, reason=reason, way_out=way_out)


def _require_one_catalog(catalog: Catalog, statement: ShallowClone) -> None:
    reason = None
    if statement.name.catalog != statement.source.catalog:
        reason = "the two are in different catalogs, of which one may not read or keep the other's files"
    elif not catalog.keeps_files_of_clones:
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
        at["timestamp"] = evaluated_time(spark, statement.timestamp.text)
    handle = travel(handle_of(statement.source.catalog, table), table.metadata, at)
    return table, environment.catalogs.version(handle)


def _cloned(
    statement: ShallowClone, source: LoadedTable, version: TableVersion, location: str, table_uuid: str
) -> TableMetadata:
    """The clone's first metadata: one snapshot, and the definition and settings of the source; no state of its streams
    and clones.

    The schema is today's also of an old snapshot, as are the partition spec, the sort order, the key and the rules of
    rows, which name columns of it.
    """
    before = source.metadata
    changed, removed = as_stored(statement.properties)
    version_of_format = FORMAT_VERSION.of({FORMAT_VERSION.name: str(before.format_version), **changed})
    changed.pop(FORMAT_VERSION.name, None)
    kept = {key: text for key, text in settings_of(before.properties).items() if key not in removed}
    kept |= identity_state(before.properties)
    with_properties = replace(before, properties={**kept, **changed})
    name = str(statement.name)
    require_upserts_kept(before, with_properties, name)
    require_buckets_kept(before, with_properties, name)
    copied = shared_copy(with_properties, location, table_uuid)
    if version_of_format < before.format_version:
        current = before.format_version
        raise AnalysisError("FORMAT_VERSION_DOWNGRADE", name=name, version=version_of_format, current=current)
    if version_of_format > before.format_version:
        copied = UpgradeFormatVersion(version_of_format).apply(copied)
    snapshot = version.snapshot
    own = {**copied.properties, **(clone_properties(source.identifier, table_uuid) if snapshot is not None else {})}
    return replace(
        copied,
        properties=own,
        current_snapshot_id=None if snapshot is None else snapshot.snapshot_id,
        refs={} if snapshot is None else {MAIN_BRANCH: SnapshotReference(snapshot.snapshot_id)},
        snapshots=() if snapshot is None else (snapshot,),
        snapshot_log=() if snapshot is None else (SnapshotLogEntry(snapshot.timestamp_ms, snapshot.snapshot_id),),
        statistics=(),
        partition_statistics=(),
    )
