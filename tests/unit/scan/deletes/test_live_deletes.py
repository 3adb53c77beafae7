"""What deletes a snapshot has, and what is not read to know it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.errors import CorruptionError, UnsupportedError
from sqlext.scan.deletes.live_deletes import LiveDeletes, live_deletes
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.manifests.manifest import EntryStatus, ManifestContent, ManifestEntry
from sqlext.spec.partition_spec import UNPARTITIONED
from unit.scan.small_table import (
    RecordingIO,
    SmallTable,
    added,
    data_file,
    equality_delete_file,
    position_delete_file,
)

DELETES = ManifestContent.DELETES


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    return SmallTable(tmp_path)


def found(table: SmallTable, io: RecordingIO | None = None) -> LiveDeletes:
    return live_deletes(io or RecordingIO(), table.metadata, table.snapshot(), manifests=ManifestCache())


def test_data_manifests_are_not_read(table: SmallTable) -> None:
    table.add_manifest("data.avro", [added(data_file(f"f{n}")) for n in range(100)], 1)
    table.add_manifest("deletes.avro", [added(position_delete_file("d"))], 2, DELETES)
    io = RecordingIO()
    assert found(table, io) == LiveDeletes(has_positions=True)
    assert io.opened == ["list.avro", "deletes.avro"]


def test_equality_deletes_are_grouped_by_key_and_scope(table: SmallTable) -> None:
    table.add_manifest("data.avro", [added(data_file("f"))], 1)
    entries = [
        added(equality_delete_file("a")),
        added(equality_delete_file("b", "b")),
        added(equality_delete_file("c", equality_ids=(2, 1))),
    ]
    table.add_manifest("partitioned.avro", entries, 2, DELETES)
    everywhere = added(equality_delete_file("d", spec_id=0, partition=()))
    table.add_manifest("global.avro", [everywhere], 3, DELETES, UNPARTITIONED)
    deletes = found(table)
    assert not deletes.has_positions
    assert {
        (group.equality_ids, group.is_global): [entry.file.file_path for entry in group.entries]
        for group in deletes.equality
    } == {((1,), False): ["a", "b"], ((1, 2), False): ["c"], ((1,), True): ["d"]}


def test_deletes_older_than_all_data_do_not_count(table: SmallTable) -> None:
    table.add_manifest("data.avro", [added(data_file("f"))], 5)
    old = [added(position_delete_file("p"), 4), added(equality_delete_file("e"), 5)]
    table.add_manifest("deletes.avro", old, 6, DELETES)
    assert found(table) == LiveDeletes()


def test_position_deletes_as_old_as_the_data_count(table: SmallTable) -> None:
    table.add_manifest("data.avro", [added(data_file("f"))], 5)
    table.add_manifest("deletes.avro", [added(position_delete_file("p"))], 5, DELETES)
    assert found(table).has_positions


def test_removed_deletes_do_not_count(table: SmallTable) -> None:
    table.add_manifest("data.avro", [added(data_file("f"))], 1)
    removed = ManifestEntry(EntryStatus.DELETED, 1, 2, 2, position_delete_file("p"))
    table.add_manifest("deletes.avro", [removed], 3, DELETES)
    assert found(table) == LiveDeletes()


def test_deletes_that_cannot_be_read_are_refused(table: SmallTable) -> None:
    table.add_manifest("data.avro", [added(data_file("f"))], 1)
    table.add_manifest("deletes.avro", [added(equality_delete_file("e", key_metadata=b"k"))], 2, DELETES)
    with pytest.raises(UnsupportedError):
        found(table)


def test_an_equality_delete_without_key_is_damage(table: SmallTable) -> None:
    table.add_manifest("data.avro", [added(data_file("f"))], 1)
    table.add_manifest("deletes.avro", [added(equality_delete_file("e", equality_ids=None))], 2, DELETES)
    with pytest.raises(CorruptionError):
        found(table)
