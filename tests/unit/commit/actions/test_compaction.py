"""Rows move to other files while others write: no row comes back, none is lost, and a writer never gives way."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from pyroaring import BitMap64

from small_tables import (
    BY_REGION,
    Writer,
    data_file,
    equality_deletes,
    ids_read_by_pyiceberg,
    position_deletes,
    rows_of,
    stored_rows,
    summary_of,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.action import Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.compaction import RewriteFiles
from sqlext.commit.actions.delete_file_rewrite import RewriteDeleteFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.actions.spec_change import AddField, ChangeSpec, FieldTerm
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.errors import StaleRead
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.scan_plan import FileScanTask, ScanPlan, plan_scan
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import ManifestContent, ManifestEntry
from sqlext.spec.manifests.row_origins import OriginRuns, RowOrigins, row_origins
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.transform import IdentityTransform
from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import data_location


def scanned(table: LoadedTable) -> ScanPlan:
    """All live files, those whose rows have all gone too."""
    io, metadata = LocalFileIO(), table.metadata
    snapshot, cache = metadata.current_snapshot(), ManifestCache()
    return plan_scan(io, metadata, snapshot, AlwaysTrue(), manifests=cache, keep_deleted=True)


def entries(table: LoadedTable, content: ManifestContent) -> list[ManifestEntry]:
    io, cache, metadata = LocalFileIO(), ManifestCache(), table.metadata
    snapshot = metadata.current_snapshot()
    assert snapshot is not None
    listed = [one for one in cache.manifests(io, snapshot) if one.content == content]
    return [entry for one in listed for entry in cache.live_entries(io, one, metadata)]


def deletes_of(table: LoadedTable) -> set[str]:
    return {entry.file.file_path for entry in entries(table, ManifestContent.DELETES)}


Row = tuple[int, str, int]
"""The id of a row, its data file, and its position there."""


def live_rows(table: LoadedTable, tasks: Sequence[FileScanTask]) -> list[Row]:
    """The rows of some files that no delete has taken away, sorted by id."""
    plan, found = scanned(table), []
    for task in tasks:
        gone = BitMap64() if task.position_deletes is None else BitMap64.deserialize(task.position_deletes)
        rows = [(row["id"], at) for at, row in enumerate(stored_rows(task.file)) if at not in gone]
        for group in (plan.equality_groups[number] for number in task.equality_groups):
            for one in group.files:
                reached = group.is_global or one.partition_ordinal == task.partition_ordinal
                if reached and one.sequence_number > task.sequence_number:
                    keys = {row["id"] for row in stored_rows(one.file)}
                    rows = [(id, at) for id, at in rows if id not in keys]
        found += [(id, task.file.file_path, at) for id, at in rows]
    return sorted(found)


def live_ids(table: LoadedTable, tasks: Sequence[FileScanTask]) -> list[int]:
    """The ids of the rows of some files that no delete has taken away."""
    return [id for id, _, _ in live_rows(table, tasks)]


def origins_of(rows: Sequence[Row]) -> RowOrigins:
    """The origins of a file of these rows, in their order."""
    paths = sorted({path for _, path, _ in rows})
    runs = OriginRuns()
    runs.add(np.array([paths.index(path) for _, path, _ in rows]), np.array([at for _, _, at in rows]))
    return row_origins(runs.packed(), dict(enumerate(paths)))


def marked(metadata: TableMetadata, rows: Mapping[str, DeletedRows]) -> list[ContentFile]:
    """Position-delete files of the rows, as a rewrite writes them in format version 2."""
    return [position_deletes(metadata, one.data_file(path), list(one.positions)) for path, one in rows.items()]


def compaction(
    table: LoadedTable,
    tasks: Sequence[FileScanTask],
    region: str = "eu",
    files: int = 1,
    rng: random.Random | None = None,
) -> RewriteFiles:
    """The live rows of some files of one partition in at most so many files of the current spec, as planned on `table`;
    with `rng` each old file's rows go to one of them, in any order."""
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    replaced = [task.file for task in tasks]
    added, origins = [], {}
    for number in range(files):
        rows = live_rows(table, tasks[number::files])
        if rng is not None:
            rng.shuffle(rows)
        if rows:
            added.append(data_file(table.metadata, [id for id, _, _ in rows], region))
            origins[added[-1].file_path] = origins_of(rows)
    moves = any(file.spec_id != table.metadata.default_spec_id for file in replaced)
    number = snapshot.sequence_number if moves else max(task.sequence_number for task in tasks)
    return RewriteFiles(replaced, added, number, snapshot.snapshot_id, origins, partial(marked, table.metadata))


def ids_of(table: LoadedTable) -> list[int]:
    return sorted(row["id"] for row in rows_of(table))


class Shop:
    """A partitioned table of 1 and 2, then 2 anew and 3, by an equality delete."""

    def __init__(self, folder: Path, format_version: int = 2) -> None:
        self.compactor = Writer(warehouse_catalog(folder), seed=1)
        self.other = Writer(warehouse_catalog(folder), seed=2)
        empty = self.compactor.create(spec=BY_REGION, format_version=format_version)
        self.first = data_file(empty.metadata, [1, 2])
        table = self.compactor.commit(AppendFiles((self.first,)), base=empty).table
        self.second = data_file(table.metadata, [2, 3])
        self.deletes = equality_deletes(table.metadata, [2, 3])
        upsert = RowDelta((self.second,), (self.deletes,), isolation="snapshot")
        self.base = self.compactor.commit(upsert, base=table).table

    def compaction(self, *files: ContentFile) -> RewriteFiles:
        paths = {file.file_path for file in files or (self.first, self.second)}
        return compaction(self.base, [task for task in scanned(self.base).tasks if task.file.file_path in paths])

    def after(self, action: Action, *files: ContentFile) -> LoadedTable:
        compacted = self.compaction(*files)
        self.other.commit(action, base=self.base)
        return self.compactor.commit(compacted, base=self.base).table

    def refused_after(self, action: Action, reason: str) -> None:
        compacted = self.compaction()
        self.other.commit(action, base=self.base)
        with pytest.raises(StaleRead, match=reason):
            self.compactor.commit(compacted, base=self.base)
        # The files of a compaction that gave up are gone.
        assert not any(Path(file.file_path.removeprefix("file:")).exists() for file in compacted.added)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_rows_stay_and_dead_deletes_go(shop: Shop) -> None:
    table = shop.compactor.commit(shop.compaction(), base=shop.base).table
    assert ids_read_by_pyiceberg(table) == ids_of(table) == [1, 2, 3]
    assert deletes_of(table) == set()
    assert [entry.sequence_number for entry in entries(table, ManifestContent.DATA)] == [2]
    summary = summary_of(table)
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    assert snapshot.operation == "replace"
    told = ("total-records", "total-data-files", "total-equality-deletes", "deleted-data-files")
    assert [summary[name] for name in told] == ["3", "1", "0", "2"]


def test_deletes_that_older_files_need_stay(shop: Shop) -> None:
    table = shop.compactor.commit(shop.compaction(shop.second), base=shop.base).table
    assert deletes_of(table) == {shop.deletes.file_path}
    assert ids_of(table) == [1, 2, 3]


def test_a_later_upsert_by_key_hits_the_new_file(shop: Shop) -> None:
    metadata = shop.base.metadata
    new, deletes = data_file(metadata, [3]), equality_deletes(metadata, [3])
    table = shop.after(RowDelta((new,), (deletes,), isolation="snapshot"))
    assert ids_of(table) == [1, 2, 3]
    assert deletes_of(table) == {deletes.file_path}
    numbers = {entry.file.file_path: entry.sequence_number for entry in entries(table, ManifestContent.DATA)}
    assert (sorted(numbers.values()), numbers[new.file_path]) == ([2, 3], 3)


def test_appends_pass(shop: Shop) -> None:
    assert ids_of(shop.after(AppendFiles((data_file(shop.base.metadata, [9]),)))) == [1, 2, 3, 9]


def test_rows_that_were_deleted_by_position_since_stay_deleted(shop: Shop) -> None:
    deletes = position_deletes(shop.base.metadata, shop.first, (0,))
    table = shop.after(RowDelta((), (deletes,), isolation="snapshot"))
    assert ids_of(table) == ids_read_by_pyiceberg(table) == [2, 3]
    assert deletes.file_path not in deletes_of(table)
    (carried,) = entries(table, ManifestContent.DELETES)
    summary = summary_of(table)
    assert (carried.sequence_number, summary["operation"], summary["added-position-deletes"]) == (4, "replace", "1")


def test_deletes_of_a_commit_that_wins_the_race_are_looked_up_again(shop: Shop) -> None:
    """Both attempts find new deletes; the files of the first are gone."""
    compacted = shop.compaction()
    first = position_deletes(shop.base.metadata, shop.first, (0,))
    second = position_deletes(shop.base.metadata, shop.second, (1,))
    once = shop.other.commit(RowDelta((), (first,), isolation="snapshot"), base=shop.base).table
    commits = shop.compactor.catalog.commit

    def late(identifier: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> LoadedTable:
        if shop.compactor.catalog.load_table(identifier).metadata_location == once.metadata_location:
            shop.other.commit(RowDelta((), (second,), isolation="snapshot"), base=once)
        return commits(identifier, base, updated)

    shop.compactor.catalog.commit = late  # type: ignore[method-assign]
    outcome = shop.compactor.commit(compacted, base=once)
    assert outcome.attempts == 2
    assert ids_of(outcome.table) == ids_read_by_pyiceberg(outcome.table) == [2]
    folder = Path(data_location(outcome.table.metadata).removeprefix("file:"))
    kept = {file.name for file in folder.rglob("*.parquet")}
    named = {name.rpartition("/")[2] for name in deletes_of(outcome.table)}
    old = [shop.first, shop.second, shop.deletes, first, second, *compacted.added]
    assert kept == named | {file.file_path.rpartition("/")[2] for file in old}


def test_rows_of_other_files_may_be_deleted_by_position(shop: Shop) -> None:
    deletes = position_deletes(shop.base.metadata, shop.first, (0,))
    table = shop.after(RowDelta((), (deletes,), isolation="snapshot"), shop.second)
    assert ids_of(table) == [2, 3]
    assert deletes.file_path in deletes_of(table)


def test_a_vector_that_came_since_is_carried_over(tmp_path: Path) -> None:
    shop = Shop(tmp_path, format_version=3)
    rows = {shop.first.file_path: DeletedRows(shop.first.spec_id, shop.first.partition, BitMap64([0]))}
    table = shop.after(RowDelta(deleted_rows=rows, isolation="snapshot"))
    assert ids_of(table) == [2, 3]
    (carried,) = entries(table, ManifestContent.DELETES)
    (data,) = entries(table, ManifestContent.DATA)
    assert carried.file.is_deletion_vector
    assert (carried.file.referenced_data_file, carried.file.record_count) == (data.file.file_path, 1)


def test_vectors_go_with_their_files(tmp_path: Path) -> None:
    shop = Shop(tmp_path, format_version=3)
    rows = {shop.first.file_path: DeletedRows(shop.first.spec_id, shop.first.partition, BitMap64([0]))}
    shop.base = shop.compactor.commit(RowDelta(deleted_rows=rows, isolation="snapshot"), base=shop.base).table
    table = shop.compactor.commit(shop.compaction(), base=shop.base).table
    assert (ids_of(table), deletes_of(table)) == ([2, 3], set())


def test_rows_that_a_conversion_since_marked_had_gone_before(shop: Shop) -> None:
    base_id = shop.base.metadata.current_snapshot_id
    assert base_id is not None
    marks = position_deletes(shop.base.metadata, shop.first, (1,))
    referenced = frozenset({shop.first.file_path})
    conversion = RewriteDeleteFiles((shop.deletes,), base_id, (marks,), referenced_data_files=referenced)
    table = shop.after(conversion)
    assert ids_of(table) == [1, 2, 3]
    assert deletes_of(table) == set()


def test_two_compactions_of_one_file_do_not_both_land(shop: Shop) -> None:
    shop.refused_after(shop.compaction(shop.second), "removed the data file")
    assert ids_of(shop.compactor.load()) == [1, 2, 3]


def test_only_the_files_that_share_rows_with_a_lost_one_are_left_out(shop: Shop) -> None:
    compacted = compaction(shop.base, scanned(shop.base).tasks, files=2)
    rows = [row["id"] for row in stored_rows(shop.second)]
    copied = data_file(shop.base.metadata, [10 * id for id in rows])
    since = shop.base.metadata.current_snapshot_id
    shop.other.commit(OverwriteFiles([copied], deleted_files=[shop.second], base_snapshot_id=since), base=shop.base)
    table = shop.compactor.commit(compacted, base=shop.base).table
    assert ids_of(table) == [1, 20, 30]
    paths = {entry.file.file_path for entry in entries(table, ManifestContent.DATA)}
    kept, left_out = sorted(compacted.added, key=lambda file: file.file_path not in paths)
    assert paths == {kept.file_path, copied.file_path}
    assert not Path(left_out.file_path.removeprefix("file:")).exists()


def test_position_deletes_go_with_the_last_file_that_they_name(shop: Shop) -> None:
    metadata = shop.base.metadata
    third = data_file(metadata, [7, 8])
    marks = position_deletes(metadata, third, (0,)), position_deletes(metadata, shop.first, (0,))
    shop.base = shop.compactor.commit(AppendFiles((third,)), base=shop.base).table
    shop.base = shop.compactor.commit(RowDelta((), marks, isolation="snapshot"), base=shop.base).table
    table = shop.compactor.commit(shop.compaction(), base=shop.base).table
    assert ids_of(table) == [2, 3, 8]
    assert deletes_of(table) == {marks[0].file_path}


def test_deletes_are_not_read_whose_data_files_are_known_to_go(shop: Shop) -> None:
    metadata = shop.base.metadata
    third = data_file(metadata, [7, 8])
    of_third, of_first = position_deletes(metadata, third, (0,)), position_deletes(metadata, shop.first, (0,))
    shop.base = shop.compactor.commit(AppendFiles((third,)), base=shop.base).table
    shop.base = shop.compactor.commit(RowDelta((), (of_third, of_first), isolation="snapshot"), base=shop.base).table
    compacted = shop.compaction()
    Path(of_first.file_path.removeprefix("file:")).unlink()
    shop.base = shop.compactor.commit(compacted, base=shop.base).table
    assert deletes_of(shop.base) == {of_third.file_path}

    without_bounds = replace(position_deletes(metadata, third, (1,)), lower_bounds=None, upper_bounds=None)
    shop.base = shop.compactor.commit(RowDelta((), (without_bounds,), isolation="snapshot"), base=shop.base).table
    everything = shop.compaction(*(task.file for task in scanned(shop.base).tasks))
    Path(without_bounds.file_path.removeprefix("file:")).unlink()
    shop.base = shop.compactor.commit(everything, base=shop.base).table
    assert deletes_of(shop.base) == set()
    assert ids_of(shop.base) == [2, 3]


def test_files_without_a_row_go_and_nothing_comes(shop: Shop) -> None:
    gone = equality_deletes(shop.base.metadata, [1, 2, 3])
    shop.base = shop.compactor.commit(RowDelta((), (gone,), isolation="snapshot"), base=shop.base).table
    table = shop.compactor.commit(shop.compaction(), base=shop.base).table
    assert (ids_of(table), deletes_of(table), entries(table, ManifestContent.DATA)) == ([], set(), [])


# rows that go to another partitioning


class Evolving(Shop):
    """The shop, whose partitioning has then got another field."""

    def __init__(self, folder: Path, format_version: int = 2) -> None:
        super().__init__(folder, format_version)
        change = ChangeSpec((AddField(FieldTerm(("id",), IdentityTransform())),))
        self.base = self.compactor.commit(change, base=self.base).table

    def in_new_spec(self, file: ContentFile, id: int) -> ContentFile:
        return replace(file, spec_id=self.base.metadata.default_spec_id, partition=("eu", id))

    def in_old_spec(self, file: ContentFile) -> ContentFile:
        return replace(file, spec_id=self.first.spec_id, partition=("eu",))

    def move(self) -> RewriteFiles:
        return self.moved(self.base, scanned(self.base).tasks)

    def moved(self, table: LoadedTable, tasks: Sequence[FileScanTask]) -> RewriteFiles:
        """The live rows of files of the old spec, in a file each of the new one."""
        metadata, snapshot = table.metadata, table.metadata.current_snapshot()
        assert snapshot is not None
        rows = live_rows(table, tasks)
        added = [self.in_new_spec(data_file(metadata, [row[0]]), row[0]) for row in rows]
        origins = {file.file_path: origins_of([row]) for file, row in zip(added, rows, strict=True)}
        number, write_deletes = snapshot.sequence_number, partial(marked, metadata)
        replaced = [task.file for task in tasks]
        return RewriteFiles(replaced, added, number, snapshot.snapshot_id, origins, write_deletes)


def test_deletes_of_the_new_partition_that_are_older_than_the_move_do_not_reach_it(tmp_path: Path) -> None:
    shop = Evolving(tmp_path)
    stray = shop.in_new_spec(equality_deletes(shop.base.metadata, [1]), 1)
    since = shop.base.metadata.current_snapshot_id
    delta = RowDelta((), (stray,), base_snapshot_id=since, isolation="snapshot")
    shop.base = shop.compactor.commit(delta, base=shop.base).table
    assert ids_of(shop.base) == [1, 2, 3]
    assert ids_of(shop.compactor.commit(shop.move(), base=shop.base).table) == [1, 2, 3]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("where", ["old", "new", "both"])
def test_deletes_by_key_since_are_carried_over_by_a_move(tmp_path: Path, where: str, version: int) -> None:
    """Those of the old spec, as Flink writes them that knows no other one, hit the rows that they hit before; those of
    the new spec hit no row that was of the old one."""
    shop = Evolving(tmp_path, version)
    move = shop.move()
    deletes = equality_deletes(shop.base.metadata, [1, 3])
    old = shop.in_old_spec(deletes)
    new = shop.in_new_spec(equality_deletes(shop.base.metadata, [2]), 2)
    later = {"old": (old,), "new": (new,), "both": (old, new)}[where]
    since = shop.base.metadata.current_snapshot_id
    shop.other.commit(RowDelta((), later, base_snapshot_id=since, isolation="snapshot"), base=shop.base)
    left = ids_of(shop.compactor.load())
    assert left == ([1, 2, 3] if where == "new" else [2])
    table = shop.compactor.commit(move, base=shop.base).table
    assert {entry.file.file_path for entry in entries(table, ManifestContent.DATA)} == {
        file.file_path for file in move.added
    }
    assert ids_of(table) == left
    # A later delete of the new spec hits them.
    last = shop.in_new_spec(equality_deletes(table.metadata, [2]), 2)
    since = table.metadata.current_snapshot_id
    table = shop.other.commit(RowDelta((), (last,), base_snapshot_id=since, isolation="snapshot"), base=table).table
    assert ids_of(table) == [id for id in left if id != 2]


def test_keys_that_cannot_be_looked_up_prevent_a_move_in_their_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Evolving(tmp_path)
    move = shop.move()
    old = shop.in_old_spec(equality_deletes(shop.base.metadata, [1]))
    since = shop.base.metadata.current_snapshot_id
    shop.other.commit(RowDelta((), (old,), base_snapshot_id=since, isolation="snapshot"), base=shop.base)
    monkeypatch.setattr("sqlext.scan.resolved_keys._MOST_VALUES", 0)
    with pytest.raises(StaleRead, match="deleted by key in the same partition"):
        shop.compactor.commit(move, base=shop.base)
    assert ids_of(shop.compactor.load()) == [2, 3]


@pytest.mark.parametrize("version", [2, 3])
def test_deletes_by_key_since_are_carried_over_to_files_as_new_as_the_commit(tmp_path: Path, version: int) -> None:
    shop = Shop(tmp_path, version)
    compacted = replace(shop.compaction(), sequence_number=None)
    deletes = equality_deletes(shop.base.metadata, [1])
    shop.other.commit(RowDelta((), (deletes,), isolation="snapshot"), base=shop.base)
    table = shop.compactor.commit(compacted, base=shop.base).table
    assert ids_of(table) == [2, 3]
    assert {entry.file.file_path for entry in entries(table, ManifestContent.DATA)} == {
        file.file_path for file in compacted.added
    }


def test_a_file_of_another_partition_is_no_compaction(shop: Shop) -> None:
    with pytest.raises(ValueError, match="a partition that they were not in"):
        compaction(shop.base, scanned(shop.base).tasks, region="us")


# random histories


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("format_version", [2, 3])
def test_random_histories_give_the_rows_of_a_model(tmp_path: Path, seed: int, format_version: int) -> None:
    """Upserts by key and by position and deletes, while compactions planned earlier land late."""
    rng = random.Random(seed)
    writer = Writer(warehouse_catalog(tmp_path), seed=seed)
    table = writer.create(spec=BY_REGION, format_version=format_version)
    model: set[int] = set()
    planned: list[tuple[LoadedTable, RewriteFiles]] = []
    landed = 0
    for _ in range(40):
        match rng.choice(("upsert", "upsert", "delete", "delete", "plan", "plan", "land")):
            case "upsert":
                ids = sorted(rng.sample(range(12), 3))
                new, keys = data_file(table.metadata, ids), equality_deletes(table.metadata, ids)
                table = writer.commit(RowDelta((new,), (keys,), isolation="snapshot"), base=table).table
                model |= set(ids)
            case "delete":
                tasks = scanned(table).tasks
                if tasks:
                    task = rng.choice(tasks)
                    position = rng.randrange(task.file.record_count)
                    victim = stored_rows(task.file)[position]["id"]
                    if victim in live_ids(table, [task]):
                        model.discard(victim)
                    table = writer.commit(_deletion(table, task.file, position, format_version), base=table).table
            case "plan":
                tasks = scanned(table).tasks
                if tasks:
                    chosen = rng.sample(tasks, rng.randint(1, len(tasks)))
                    planned.append((table, compaction(table, chosen, files=rng.randint(1, 3), rng=rng)))
            case "land" if planned:
                base, action = planned.pop(rng.randrange(len(planned)))
                before = ids_of(table)
                with suppress(StaleRead):
                    table = writer.commit(action, base=base).table
                    landed += 1
                assert ids_of(table) == before
        assert ids_of(table) == sorted(model), f"seed {seed}"
    assert landed, "with this seed no compaction lands"
    tasks = scanned(table).tasks
    if tasks:
        table = writer.commit(compaction(table, tasks), base=table).table
        assert ids_of(table) == ids_read_by_pyiceberg(table) == sorted(model)
        assert not deletes_of(table)


def _deletion(table: LoadedTable, file: ContentFile, position: int, format_version: int) -> RowDelta:
    since = table.metadata.current_snapshot_id
    if format_version == 3:
        rows = {file.file_path: DeletedRows(file.spec_id, file.partition, BitMap64([position]))}
        return RowDelta(deleted_rows=rows, base_snapshot_id=since, isolation="snapshot")
    marks = replace(position_deletes(table.metadata, file, (position,)), spec_id=file.spec_id)
    return RowDelta((), (marks,), base_snapshot_id=since, isolation="snapshot")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("format_version", [2, 3])
def test_random_moves_beside_writers_of_both_specs(tmp_path: Path, seed: int, format_version: int) -> None:
    """A writer that knows the old spec alone and one of the new spec upsert by keys and delete by position, while moves
    planned earlier land late: none of them changes what there is to read."""
    rng = random.Random(seed)
    shop = Evolving(tmp_path, format_version)
    table, metadata = shop.base, shop.base.metadata
    planned: list[tuple[LoadedTable, RewriteFiles]] = []
    landed = 0

    def upserted(table: LoadedTable, rows: ContentFile, keys: ContentFile) -> LoadedTable:
        """As an engine does that does not look for the keys in other specs."""
        since = table.metadata.current_snapshot_id
        delta = RowDelta((rows,), (keys,), base_snapshot_id=since, isolation="snapshot")
        return shop.other.commit(delta, base=table).table

    for _ in range(40):
        old = [task for task in scanned(table).tasks if task.file.spec_id == shop.first.spec_id]
        match rng.choice(("old", "old", "new", "delete", "plan", "plan", "land")):
            case "old":
                ids = sorted(rng.sample(range(8), 3))
                new, keys = data_file(metadata, ids), equality_deletes(metadata, ids)
                table = upserted(table, shop.in_old_spec(new), shop.in_old_spec(keys))
            case "new":
                id = rng.randrange(8)
                new, keys = data_file(metadata, [id]), equality_deletes(metadata, [id])
                table = upserted(table, shop.in_new_spec(new, id), shop.in_new_spec(keys, id))
            case "delete" if old:
                task = rng.choice(old)
                position = rng.randrange(task.file.record_count)
                table = shop.other.commit(_deletion(table, task.file, position, format_version), base=table).table
            case "plan" if old:
                planned.append((table, shop.moved(table, rng.sample(old, rng.randint(1, len(old))))))
            case "land" if planned:
                base, action = planned.pop(rng.randrange(len(planned)))
                before = ids_of(table)
                with suppress(StaleRead):
                    table = shop.compactor.commit(action, base=base).table
                    landed += 1
                assert ids_of(table) == before, f"seed {seed}"
    assert landed, "with this seed no move lands"
