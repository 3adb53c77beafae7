"""rewrite_table_path between folders and S3: the copy alone is registered and read, and names nothing of its source.

`SQLEXT_TEST_SEED` replays a run.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from catalog.s3_server import S3Server
from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.doctor.examination import examine
from sqlext.command.maintenance.partition_statistics import compute_partition_statistics
from sqlext.command.maintenance.table_path import rewrite_table_path
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.scan.checks.finding import Check
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.scan_plan import plan_scan
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.path_prefix import PathPrefix
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.storage.file_io import FileIO
from unit.command.lake import Lake, refused

SEED = int(os.environ.get("SQLEXT_TEST_SEED", "20261126"))
REGIONS = ["eu", "a b", "50%", "x/y", 'ü,"']
# No hint is copied, rewritten position deletes have other sizes than summaries tell, and what dangles does so before.
ALLOWED = (Check.POINTER, Check.TOTAL, Check.DANGLING_DELETE)
TABLE = TableIdentifier(("db",), "t")


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.stop()


class Places:
    """Warehouses to copy between: `of` makes one by the kind of its place."""

    def __init__(self, s3: S3Server, folder: Path) -> None:
        self._s3, self._folder = s3, folder
        self._bucket = s3.new_bucket()

    def warehouse(self, kind: str, name: str) -> str:
        return f"{kind}://{self._bucket}/{name}" if kind.startswith("s3") else f"file://{self._folder}/{name}"

    def open(self, warehouse: str, *, in_database: bool = False) -> Catalog:
        """A catalog of folders, or one in a database, whose tables may be anywhere below the warehouse."""
        options = {"warehouse": warehouse, **self._s3.settings()}
        if in_database:
            options |= {"type": "jdbc", "uri": f"jdbc:sqlite:{self._folder}/catalog.db"}
        return open_catalog("lake", options)


@pytest.fixture
def places(s3: S3Server, tmp_path: Path) -> Places:
    return Places(s3, tmp_path)


class History:
    """Random commits to a table in `warehouse`, with the rows that each snapshot has."""

    def __init__(self, places: Places, warehouse: str, version: int) -> None:
        kind, _, place = warehouse.partition("://")
        self.random = Random(f"{SEED}-{kind}-{place.rpartition('/')[2]}-{version}")
        self.lake = Lake(Path(), catalog=places.open(warehouse))
        gzip = self.random.choice(["none", "gzip"])
        self.lake.create(
            "CREATE TABLE t (id BIGINT, region STRING, PRIMARY KEY (id, region)) PARTITIONED BY (region) TBLPROPERTIES"
            f" ('format-version'='{version}', 'commit.manifest.min-count-to-merge'='3',"
            f" 'write.upsert.mode'='equality', 'write.metadata.compression-codec'='{gzip}')"
        )
        self.rows: dict[int, Sequence[Any]] = {}

    @property
    def io(self) -> FileIO:
        return self.lake.catalog.io

    def step(self) -> None:
        ids, regions = self.random.sample(range(12), 4), self.random.choices(REGIONS, k=4)
        change = self.random.choice((self.lake.append, self.lake.upsert))
        change(id=ids, region=regions)
        tasks = self.lake.environment.scans.plan(self.lake.target().version, AlwaysTrue()).tasks
        some = self.random.sample(list(tasks), min(2, len(tasks)))
        self.lake.delete({one.file.file_path: [self.random.randrange(one.file.record_count)] for one in some})
        if self.random.random() < 0.3:
            compute_partition_statistics(self.lake.environment, "lake", self.lake.load(), None)
        metadata = self.lake.load().metadata
        for snapshot in metadata.snapshots:
            if snapshot.snapshot_id not in self.rows:
                self.rows[snapshot.snapshot_id] = rows_at(self.io, metadata, snapshot)

    def copy(self, target: Catalog, to: str, *, spelled: str | None = None, start: str | None = None) -> str:
        """Copies the table to the folder `to`, by the list of files; the location of the newest metadata file.

        `spelled` is the source as the caller spells it.
        """
        table = self.lake.load()
        prefix = PathPrefix(spelled or table.metadata.location, to)
        done = rewrite_table_path(self.lake.environment, "lake", table, prefix, start_version=start)
        assert done.file_list is not None
        lines = csv.reader(self.io.read(done.file_list).decode().splitlines())
        for source, copied in lines:
            assert copied.startswith(to + "/")
            data = self.io.read(source)
            if target.io.exists(copied):
                target.io.replace(copied, data)
            else:
                target.io.create(copied, data)
        return f"{to}/metadata/{done.latest_version}"

    def check(self, target: Catalog, metadata: TableMetadata) -> None:
        """The copy has the rows of all snapshots without its source, which nothing of it names."""
        assert {one.snapshot_id for one in metadata.snapshots} == self.rows.keys()
        location = self.lake.load().metadata.location
        source = location.partition("://")[2]
        for one in list(self.io.list(location)):
            self.io.delete(one.path)
        for snapshot in metadata.snapshots:
            assert rows_at(target.io, metadata, snapshot) == self.rows[snapshot.snapshot_id]
        for one in target.io.list(metadata.location):
            if one.path.endswith((".parquet", ".puffin", ".stats")):
                data = target.io.read(one.path)
                assert f"{source}/".encode() not in data, one.path


def rows_at(io: FileIO, metadata: TableMetadata, snapshot: Snapshot) -> Sequence[Any]:
    """The rows of a snapshot, sorted."""
    plan = plan_scan(io, metadata, snapshot, AlwaysTrue(), manifests=ManifestCache(0))
    rows: list[tuple[Any, ...]] = []
    for task in plan.tasks:
        gone = BitMap64() if task.position_deletes is None else BitMap64.deserialize(task.position_deletes)
        found = [row for at, row in enumerate(_stored(io, task.file.file_path)) if at not in gone]
        for group in (plan.equality_groups[number] for number in task.equality_groups):
            for delete in group.files:
                same_partition = group.is_global or delete.partition_ordinal == task.partition_ordinal
                if same_partition and delete.sequence_number > task.sequence_number:
                    keys = _stored(io, delete.file.file_path)
                    found = [row for row in found if row not in keys]
        rows += found
    return sorted(rows, key=repr)


def _stored(io: FileIO, path: str) -> list[tuple[Any, ...]]:
    table = pq.read_table(BytesIO(io.read(path)), columns=["id", "region"])
    return [(row["id"], row["region"]) for row in table.to_pylist()]


@pytest.mark.turns(3)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("source", "target", "name"),
    [("file", "s3", "wh"), ("s3", "file", "wh"), ("s3", "s3a", "w h%20"), ("s3a", "s3", "b"), ("file", "file", "b c%")],
)
def test_a_table_moves_and_is_written_there(places: Places, source: str, target: str, name: str, version: int) -> None:
    """To a warehouse whose name begins with the source's; in two steps, the second on top of the first."""
    history = History(places, places.warehouse(source, name), version)
    in_database = bool(history.random.getrandbits(1))
    other = places.open(places.warehouse(target, f"{name}c"), in_database=in_database)
    other.create_namespace(("db",), {})
    to = other.default_table_location(TABLE)
    for _ in range(3):
        history.step()
    before = history.lake.load().metadata_location.rpartition("/")[2]
    history.copy(other, to)
    history.lake.commit(CreateReference("kept", "tag", history.lake.load().metadata.current_snapshot_id))
    for _ in range(3):
        history.step()
    newest = history.copy(other, to, start=before)
    metadata = decode_table_metadata(other.io.read(newest), newest)
    history.check(other, metadata)
    if in_database:
        assert other.register_table(TABLE, newest) is not None
    # In a catalog of folders the folder is the table.
    moved = Lake(Path(), catalog=other)
    assert moved.load().metadata.location == to
    found = [one for one in examine(other, TABLE).findings if one.check not in ALLOWED]
    assert found == []
    moved.append(id=[99], region=["eu"])
    now = moved.load().metadata
    expected = history.rows[int(str(metadata.current_snapshot_id))]
    assert sorted([*expected, (99, "eu")], key=repr) == rows_at(other.io, now, _head(now))


def test_a_prefix_that_begins_the_name_of_a_neighbour(places: Places) -> None:
    history = History(places, places.warehouse("s3", "bc"), 2)
    history.step()
    with refused("TABLE_PATH_NOT_REWRITTEN", "is not below"):
        history.copy(history.lake.catalog, "s3://x", spelled=places.warehouse("s3", "b"))


def _head(metadata: TableMetadata) -> Snapshot:
    head = metadata.current_snapshot()
    assert head is not None
    return head
