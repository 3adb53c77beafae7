"""Tables and views that a test makes in a catalog of any kind, and small commits to them."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from small_tables import ORDERS, SCHEMA, UNPARTITIONED, UNSORTED, Clock
from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.commit.loop.transaction import commit
from sqlext.errors import CommitStateUnknown, SqlextError
from sqlext.spec.metadata.metadata_update import AddSnapshot, SetSnapshotRef, apply_updates
from sqlext.spec.metadata.reference import MAIN_BRANCH, SnapshotReference
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.metadata.view_metadata import COMMIT_ID
from sqlext.storage.location import join, metadata_location
from unit.spec.metadata.test_view_metadata import view

DB = ("db",)
OTHER = TableIdentifier(DB, "other")
VIEW = TableIdentifier(DB, "big_orders")


def land(catalog: Catalog, action: Any, identifier: TableIdentifier, base: LoadedTable | None = None) -> LoadedTable:
    """Commits with a clock and randomness of its own."""
    clock = Clock()
    rng = random.Random(uuid.uuid4().int)
    return commit(catalog, identifier, action, base=base, clock=clock, rng=rng).table


def create(catalog: Catalog, identifier: TableIdentifier = ORDERS, **given: Any) -> LoadedTable:
    action = CreateTable(
        schema=SCHEMA,
        spec=UNPARTITIONED,
        sort_order=UNSORTED,
        properties=given.get("properties", {}),
        format_version=2,
        location=given.get("location") or catalog.default_table_location(identifier),
    )
    return land(catalog, action, identifier)


def changed(base: LoadedTable, at_ms: int | None = None, **said: str) -> TableMetadata:
    """The table with one more snapshot, of no files, that says these things in its summary."""
    metadata = base.metadata
    before = metadata.current_snapshot()
    snapshot = Snapshot(
        snapshot_id=uuid.uuid4().int >> 66,
        parent_snapshot_id=None if before is None else before.snapshot_id,
        sequence_number=metadata.last_sequence_number + 1,
        timestamp_ms=metadata.last_updated_ms + 1 if at_ms is None else at_ms,
        manifest_list=join(metadata_location(metadata), f"snap-{uuid.uuid4()}.avro"),
        summary={"operation": "append", **said},
        schema_id=metadata.current_schema_id,
    )
    updates = (AddSnapshot(snapshot), SetSnapshotRef(MAIN_BRANCH, SnapshotReference(snapshot.snapshot_id)))
    return apply_updates(metadata, updates, now_ms=snapshot.timestamp_ms)


@contextmanager
def refused(*kinds: type[SqlextError]) -> Iterator[None]:
    """Something that ends in an error of these kinds, if only as what a server says, which settles nothing alone."""
    with pytest.raises((*kinds, CommitStateUnknown)) as caught:
        yield
    error = caught.value
    assert isinstance(error.refusal if isinstance(error, CommitStateUnknown) else error, kinds), error


def said_last(table: LoadedTable) -> Mapping[str, str]:
    """What the newest snapshot says."""
    snapshot = table.metadata.current_snapshot()
    return {} if snapshot is None else snapshot.summary


def view_at(catalog: Catalog, commit_id: str | None = None) -> Any:
    """Metadata of the view `VIEW` where the catalog keeps it."""
    made = replace(view(comment="c"), location=catalog.views.default_view_location(VIEW))
    if commit_id is None:
        return made
    versions = tuple(replace(one, summary={**one.summary, COMMIT_ID: commit_id}) for one in made.versions)
    return replace(made, versions=versions)
