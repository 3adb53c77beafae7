"""Statistics files in metadata: which snapshot's they are, which they replace, and races with other writers."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.table import StaticTable

from small_tables import Writer, warehouse_catalog
from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.discarded_files import discard_snapshots
from sqlext.catalog.rest.metadata_difference import updates
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.commit.actions.statistics_change import SetStatisticsFile
from sqlext.errors import ValidationConflict
from sqlext.spec.manifests.puffin import NewBlob, encode_puffin
from sqlext.spec.metadata.metadata_update import SetPartitionStatistics, SetStatistics
from sqlext.spec.metadata.statistics_file import (
    DISTINCT_VALUES,
    THETA_SKETCH,
    PartitionStatisticsFile,
    StatisticsFile,
)
from sqlext.storage.location import join, metadata_location


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    writer = Writer(warehouse_catalog(tmp_path))
    writer.create()
    writer.append(1)
    writer.append(2)
    return writer


def statistics(writer: Writer, table: LoadedTable, snapshot: int, name: str) -> SetStatisticsFile:
    """An action with its file, which is there."""
    blob = NewBlob(THETA_SKETCH, b"sketch", (1,), {DISTINCT_VALUES: "2"}, snapshot, 7)
    file = encode_puffin([blob], created_by="test")
    location = join(metadata_location(table.metadata), name)
    writer.catalog.io.create(location, file.data)
    found = StatisticsFile(snapshot, location, len(file.data), file.footer_size, file.blobs)
    return SetStatisticsFile(SetStatistics(found))


def test_each_snapshot_has_one_file_as_pyiceberg_reads_it(writer: Writer) -> None:
    table = writer.load()
    first, second = (one.snapshot_id for one in table.metadata.snapshots)
    for snapshot, name in ((first, "a"), (second, "b"), (first, "c")):
        # Planned on the first version, and committed after others.
        writer.commit(statistics(writer, table, snapshot, name), base=table)
    found = StaticTable.from_metadata(writer.load().metadata_location).metadata.statistics
    assert [(one.snapshot_id, one.statistics_path[-1]) for one in found] == [(second, "b"), (first, "c")]
    (blob,) = found[1].blob_metadata
    assert (blob.type, blob.snapshot_id, blob.sequence_number) == (THETA_SKETCH, first, 7)
    assert (blob.fields, blob.properties) == ([1], {DISTINCT_VALUES: "2"})
    assert found[1].file_footer_size_in_bytes == found[1].file_size_in_bytes - len(b"PFA1sketch")
    # Earlier versions of the table name the replaced file.
    assert writer.catalog.io.exists(join(metadata_location(table.metadata), "a"))


def test_a_snapshot_that_expired_meanwhile(writer: Writer) -> None:
    table = writer.load()
    first = table.metadata.snapshots[0].snapshot_id
    action = statistics(writer, table, first, "a")
    writer.commit(ExpireSnapshots(snapshot_ids=frozenset([first])), base=table)
    with pytest.raises(ValidationConflict) as caught:
        writer.commit(action, base=table)
    assert caught.value.condition == "CONCURRENT_CHANGE"
    assert not writer.catalog.io.exists(action.update.statistics.location)
    assert writer.load().metadata.statistics == ()


def test_updates_of_a_server(writer: Writer) -> None:
    """As the REST specification has them."""
    table = writer.load()
    snapshot = table.metadata.snapshots[0].snapshot_id
    of_columns = statistics(writer, table, snapshot, "a").update
    of_partitions = SetPartitionStatistics(PartitionStatisticsFile(snapshot, "file:///p.parquet", 9))
    for update in (of_columns, of_partitions):
        after = update.apply(table.metadata)
        assert updates(table.metadata, after) == [update.to_json()]


def test_files_of_a_change_that_was_taken_back(writer: Writer) -> None:
    """Of a transaction: they go, but not those that the table had before, nor those in another folder."""
    table = writer.load()
    snapshot = table.metadata.snapshots[0].snapshot_id
    writer.commit(statistics(writer, table, snapshot, "before"), base=table)
    before = writer.load()
    action = statistics(writer, table, snapshot, "after")
    elsewhere = PartitionStatisticsFile(snapshot, join(table.metadata.location, "elsewhere"), 0)
    writer.catalog.io.create(elsewhere.location, b"")
    after = SetPartitionStatistics(elsewhere).apply(action.update.apply(before.metadata))
    discard_snapshots(writer.catalog.io, after, before.metadata)
    folder = metadata_location(table.metadata)
    there = [
        writer.catalog.io.exists(one) for one in (join(folder, "before"), join(folder, "after"), elsewhere.location)
    ]
    assert there == [True, False, True]
