"""The equality-delete files that a conversion replaces, and the data files that it reads for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.scan.equality_delete_effects import ApplicableEqualityDeletes, applicable_equality_deletes
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.scan_plan import plan_scan
from sqlext.spec.expression import AlwaysFalse, AlwaysTrue, Comparison, Predicate
from sqlext.spec.manifests.manifest import ManifestContent
from sqlext.spec.partition_spec import UNPARTITIONED
from unit.scan.small_table import RecordingIO, SmallTable, added, bounds, data_file, equality_delete_file

DELETES = ManifestContent.DELETES


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    """Data files of partitions a and b, one with a later number; equality deletes of both, global and dead ones."""
    table = SmallTable(tmp_path)
    old = [
        data_file("a1", "a", **bounds(1, 5)),
        data_file("a2", "a", **bounds(6, 9)),
        data_file("b1", "b", **bounds(1, 9)),
    ]
    table.add_manifest("old.avro", map(added, old), 1)
    table.add_manifest("new.avro", [added(data_file("a3", "a", **bounds(1, 9)))], 5)
    deletes = [
        equality_delete_file("in_a", "a", **bounds(2, 3)),
        equality_delete_file("in_b", "b", **bounds(2, 3)),
        equality_delete_file("between", "a", **bounds(20, 30)),
        equality_delete_file("in_c", "c", **bounds(2, 3)),
        equality_delete_file("empty", "a", record_count=0),
    ]
    table.add_manifest("deletes.avro", map(added, deletes), 3, DELETES)
    everywhere = equality_delete_file("global", spec_id=0, partition=(), **bounds(7, 8))
    table.add_manifest("global.avro", [added(everywhere)], 4, DELETES, spec=UNPARTITIONED)
    return table


def use(table: SmallTable, condition: Predicate) -> ApplicableEqualityDeletes:
    io, snapshot = RecordingIO(), table.snapshot()
    whole = plan_scan(io, table.metadata, snapshot, AlwaysTrue(), manifests=ManifestCache())
    return applicable_equality_deletes(io, table.metadata, snapshot, whole, condition, manifests=ManifestCache())


def names(found: ApplicableEqualityDeletes) -> tuple[list[str], list[str], list[str]]:
    live, dead = ([file.file_path for file in files] for files in (found.live, found.dead))
    return live, dead, sorted(found.data_files)


def test_all_of_a_table(table: SmallTable) -> None:
    dead = ["between", "in_c", "empty"]
    assert names(use(table, AlwaysTrue())) == (["in_a", "in_b", "global"], dead, ["a1", "a2", "b1"])


@pytest.mark.parametrize(
    ("condition", "live", "dead", "data_files"),
    [
        (Comparison("=", 2, "b"), ["in_b", "global"], ["empty"], ["a2", "b1"]),
        (Comparison("<", 1, 5), ["in_a", "in_b"], ["in_c", "empty"], ["a1", "b1"]),
        (Comparison(">", 1, 15), [], ["between", "empty"], []),
        (AlwaysFalse(), [], ["empty"], []),
    ],
)
def test_a_condition_takes_delete_files_whole(
    table: SmallTable, condition: Predicate, live: list[str], dead: list[str], data_files: list[str]
) -> None:
    """A global delete file that may delete a matching row is also applied to partitions that do not match."""
    assert names(use(table, condition)) == (live, dead, data_files)
