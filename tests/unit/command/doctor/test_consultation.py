"""Damaged tables: what is found, what a repair does, and what it leaves as it was."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.metadata_file import HINT_NAME
from sqlext.command.doctor.answer import Answer, Repairing
from sqlext.command.doctor.consultation import consult
from sqlext.command.doctor.examination import examine
from sqlext.command.doctor.repair import repair_branches
from sqlext.commit.action import Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.manifest_rewrite import RewriteManifests
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.commit.actions.schema_change import ChangeSchema
from sqlext.scan.checks.finding import Check, Severity
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.manifests.manifest import FieldSummary, ManifestFile, encode_manifest_list
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata, encode_table_metadata
from sqlext.spec.schema_change import AddColumn
from sqlext.spec.types import StringType
from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import to_local_path
from unit.command.lake import Lake, refused
from unit.command.maintenance.random_history import RandomHistory

T = TableIdentifier(("db",), "t")
CREATE = (
    "CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id)) PARTITIONED BY (bucket(2, id))"
    " TBLPROPERTIES ('format-version'='{}', 'write.metadata.compression-codec'='{}')"
)


def small(folder: Path, version: int = 2, codec: str = "none") -> Lake:
    """A table with data files, equality deletes, and position deletes or a deletion vector."""
    lake = Lake(folder)
    lake.create(CREATE.format(version, codec))
    lake.append(id=[1, 2, 3, 4, 5, 6, 7, 8], s=["a", "b", "a", None, "c", "c", "d", "e"])
    lake.upsert(id=[1], s=["z"])
    lake.delete({lake.files()[0].file_path: [1]})
    return lake


def fsck(lake: Lake, repair: Repairing = Repairing.NOTHING, **given: bool) -> Sequence[Answer]:
    return consult(lake.environment, "lake", T, repair, **given)


def wrong(answers: Sequence[Answer]) -> list[str]:
    """The checks that found something wrong."""
    return sorted({one.finding.check.value for one in answers if one.finding.severity != Severity.NOTICE})


def local(location: str) -> Path:
    return Path(to_local_path(location))


def head(lake: Lake) -> Snapshot:
    snapshot = lake.load().metadata.current_snapshot()
    assert snapshot is not None
    return snapshot


def manifests(lake: Lake) -> list[Path]:
    return [local(one.path) for one in ManifestCache(0).manifests(LocalFileIO(), head(lake))]


def flip(file: Path, bit: int) -> bytes:
    """The bytes before."""
    data = file.read_bytes()
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    file.write_bytes(damaged)
    return data


def metadata_objects(lake: Lake) -> list[Path]:
    folder = local(lake.load().metadata.location)
    return sorted(one for one in folder.rglob("*") if one.suffix in (".avro", ".json", ".puffin", ".text"))


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("version", [2, 3])
def test_a_flipped_bit_of_any_metadata_object_is_found_and_mended(tmp_path: Path, version: int, codec: str) -> None:
    lake = small(tmp_path, version, codec)
    rng = random.Random(20261126 + version)
    before = fsck(lake)
    assert wrong(before) == []
    for file in metadata_objects(lake):
        # The hint has no room for a checksum, and is right again after the next commit.
        for _ in range(0 if file.name == HINT_NAME else 6):
            bit = rng.randrange(8 * file.stat().st_size)
            data = flip(file, bit)
            assert wrong(fsck(lake)) != [], (file.name, bit)
            assert {one.repair for one in fsck(lake, Repairing.DAMAGE) if "nothing is lost" in one.repair}
            assert file.read_bytes() == data, (file.name, bit)
            assert fsck(lake) == before, (file.name, bit)


@pytest.mark.parametrize("bit", range(8))
def test_a_damaged_hint_is_found(tmp_path: Path, bit: int) -> None:
    lake = small(tmp_path)
    rows, hint = lake.rows(), local(lake.load().metadata_location).with_name(HINT_NAME)
    flip(hint, bit)
    assert fsck(lake) != []
    fsck(lake, Repairing.DAMAGE)
    assert wrong(fsck(lake)) == []
    assert lake.rows() == rows
    lake.append(id=[9], s=["y"])
    assert fsck(lake) == []


@pytest.mark.parametrize("bit", range(8))
@pytest.mark.parametrize(
    ("before", "letter"),
    [
        ('"format-version":', 0),
        *(('"location":"', letter) for letter in range(len("file:///"))),
        ('"metadata-file":"', 0),
    ],
)
def test_damage_that_reads_as_a_refusal_is_damage(tmp_path: Path, before: str, letter: int, bit: int) -> None:
    """A later format version, a store that is not known, a location that is none."""
    lake = small(tmp_path)
    rows, file = lake.rows(), local(lake.load().metadata_location)
    named = before.encode()
    flip(file, 8 * (file.read_bytes().index(named) + len(named) + letter) + bit)
    assert wrong(fsck(lake)) != []
    fsck(lake, Repairing.DAMAGE)
    assert wrong(fsck(lake)) == []
    assert lake.rows() == rows


@pytest.mark.long
@pytest.mark.parametrize(("version", "codec"), [(2, "none"), (3, "none"), (3, "gzip")])
def test_each_bit_of_each_metadata_object(tmp_path: Path, version: int, codec: str) -> None:
    """What `fsck` finds, by the same calls; only without threads, which take longer than such a table."""
    lake = small(tmp_path, version, codec)
    before = examine(lake.catalog, T, each=map).findings
    # Compressed or not, all but the metadata files are the same.
    for file in (one for one in metadata_objects(lake) if codec == "none" or ".gz." in one.name):
        data = file.read_bytes()
        for bit in range(8 * len(data)):
            flip(file, bit)
            assert examine(lake.catalog, T, each=map).findings != before, (file.name, bit)
            file.write_bytes(data)


@pytest.mark.parametrize("seed", range(12))
def test_random_histories_are_healthy(tmp_path: Path, seed: int) -> None:
    history = RandomHistory(tmp_path, seed)
    for _ in range(16):
        history.step()
    history.require_kept()
    if seed % 2:
        history.lake.commit(RewriteManifests(0))
    answers = fsck(history.lake, data_files=True)
    assert {one.finding.check for one in answers} <= {Check.DANGLING_DELETE}, answers
    rows = history.lake.rows()
    fsck(history.lake, Repairing.DAMAGE)
    assert history.lake.rows() == rows
    assert fsck(history.lake, data_files=True) == []


# damages


def lose(file: Path) -> None:
    file.unlink()


def scramble(file: Path) -> None:
    """More than one bit, so that the checksum cannot tell what was there."""
    data = file.read_bytes()
    file.write_bytes(data[:20] + bytes(byte ^ 0x5A for byte in data[20:60]) + data[60:])


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-30])


def empty(file: Path) -> None:
    file.write_bytes(b"")


WAYS = [lose, scramble, cut, empty]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_lost_metadata_file_is_replaced_by_the_one_before(
    tmp_path: Path, way: Callable[[Path], None], codec: str
) -> None:
    """The manifest list of the lost commit tells its snapshot; that it was main's, what is left of the file."""
    lake = small(tmp_path, 3, codec)
    rows, file = lake.rows(), local(lake.load().metadata_location)
    lake.append(id=[9], s=["y"])
    after, lost = lake.rows(), head(lake)
    text_is_left = way == cut or (way, codec) == (scramble, "none")
    way(local(lake.load().metadata_location))
    (found,) = fsck(lake)
    assert found.finding.check in (Check.UNREADABLE, Check.MISSING)
    (done,) = fsck(lake, Repairing.DAMAGE)
    assert file.name in done.repair
    assert "what else the commits changed is lost" in done.repair
    assert wrong(fsck(lake)) == []
    assert lake.rows() == (after if text_is_left else rows)
    if not text_is_left:
        branch = lake.load().metadata.refs[f"found-{lost.snapshot_id}"]
        assert branch.snapshot_id == lost.snapshot_id
    told = lake.load().metadata.snapshot(lost.snapshot_id)
    assert (told.first_row_id, told.added_rows) == (lost.first_row_id, lost.added_rows)
    lake.append(id=[10], s=["x"])
    assert len(lake.rows()) == len(after if text_is_left else rows) + 1
    assert fsck(lake) == []


def test_metadata_that_can_be_read_but_is_not_what_was_written(tmp_path: Path) -> None:
    lake = small(tmp_path)
    lake.append(id=[9], s=["y"])
    rows, file = lake.rows(), local(lake.load().metadata_location)
    lost = head(lake).snapshot_id

    file.write_bytes(file.read_bytes().replace(b'"total-records":"', b'"total-recorsd":"', 1))
    assert wrong(fsck(lake)) == ["checksum"]
    done = fsck(lake, Repairing.DAMAGE)
    assert f"main is at {lost}, as the damaged file has it" in done[0].repair
    assert lake.rows() == rows


def test_what_no_manifest_list_tells_of_lost_commits_is_named(tmp_path: Path) -> None:
    lake = small(tmp_path)
    rows = lake.rows()
    lake.append(id=[9], s=["y"])
    lost, file = head(lake), local(lake.load().metadata_location)
    lose(local(lost.manifest_list))
    file.write_bytes(file.read_bytes().replace(b'"total-records":"', b'"total-recorsd":"', 1))
    (done, *_) = fsck(lake, Repairing.DAMAGE)
    assert f"the commits after it are lost, with snapshot {lost.snapshot_id}" in done.repair
    assert lake.rows() == rows
    assert wrong(fsck(lake)) == []


def test_a_snapshot_of_a_schema_that_is_lost_is_not_taken_over(tmp_path: Path) -> None:
    lake = small(tmp_path)
    rows = lake.rows()
    changed = lake.commit(ChangeSchema((AddColumn(("c",), StringType()),), False))
    lake.append(id=[9], s=["y"], c=["z"])
    for location in (changed.metadata_location, lake.load().metadata_location):
        cut(local(location))
    (done,) = fsck(lake, Repairing.DAMAGE)
    assert "the commits after it are lost" in done.repair
    assert lake.rows() == rows
    assert lake.load().metadata.refs.keys() == {"main"}
    assert wrong(fsck(lake)) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_lost_manifest_list_is_told_from_manifests(tmp_path: Path, way: Callable[[Path], None]) -> None:
    lake = small(tmp_path, version=3)
    rows = lake.rows()
    way(local(head(lake).manifest_list))
    assert wrong(fsck(lake)) in (["missing"], ["unreadable"])
    (done,) = (one for one in fsck(lake, Repairing.DAMAGE))
    assert "nothing is lost" in done.repair
    assert lake.rows() == rows
    # The snapshot stays as it is until it expires.
    assert {one.finding.snapshot_id for one in fsck(lake)} == {done.finding.snapshot_id}
    assert "expire" in fsck(lake)[0].repair


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("last", ["append", "delete", "compact"])
def test_a_lost_manifest_list_of_each_kind_of_commit(tmp_path: Path, version: int, last: str) -> None:
    """In format version 3 the list has row ids for the rows that its commit wrote, and rows keep theirs."""
    lake = Lake(tmp_path)
    lake.create(f"CREATE TABLE t (id BIGINT, s STRING) TBLPROPERTIES ('format-version'='{version}')")
    lake.append(id=[1, 2], s=["a", "b"])
    lake.append(id=[3], s=["c"])
    if last == "append":
        lake.append(id=[4, 5], s=["d", "e"])
    elif last == "delete" and version > 1:
        lake.delete({lake.files()[0].file_path: [0]})
    else:
        lake.append(id=[6], s=["f"])
        lake.commit(RewriteManifests(0))
    rows, ids = lake.rows(), [task.file.first_row_id for task in lake.tasks()]
    lose(local(head(lake).manifest_list))
    (done,) = fsck(lake, Repairing.DAMAGE)
    assert "nothing is lost" in done.repair
    assert lake.rows() == rows
    assert sorted(map(str, (task.file.first_row_id for task in lake.tasks()))) == sorted(map(str, ids))
    lake.append(id=[9], s=["z"])
    assert {one.finding.snapshot_id for one in fsck(lake)} == {done.finding.snapshot_id}


def test_a_manifest_list_that_cannot_be_told_is_left(tmp_path: Path) -> None:
    lake = small(tmp_path)
    scramble(local(head(lake).manifest_list))
    lose(manifests_of(lake, head(lake).parent_snapshot_id)[0])
    (done, *_) = (one for one in fsck(lake, Repairing.DAMAGE) if one.finding.path == head(lake).manifest_list)
    assert "not done" in done.repair


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("version", [2, 3])
def test_a_lost_manifest_takes_its_files_along(tmp_path: Path, way: Callable[[Path], None], version: int) -> None:
    lake = small(tmp_path, version)
    lake.append(id=[9], s=["y"])
    rows = [row for row in lake.rows() if row[0] != 9]
    newest = max(manifests(lake), key=lambda file: file.stat().st_mtime_ns)
    lose(local(lake.files()[-1].file_path))
    way(newest)
    assert set(wrong(fsck(lake))) & {"missing", "unreadable"}
    done = fsck(lake, Repairing.DAMAGE)
    assert any("1 rows in 1 files of the manifest" in one.repair for one in done), done
    assert lake.rows() == rows
    assert head(lake).operation == "delete"
    assert head(lake).summary["total-records"] == str(sum(task.file.record_count for task in lake.tasks()))
    assert {one.finding.snapshot_id for one in fsck(lake)}.isdisjoint({head(lake).snapshot_id})


@pytest.mark.parametrize("version", [2, 3])
def test_a_lost_data_file_takes_its_rows_and_deletes_along(tmp_path: Path, version: int) -> None:
    lake = small(tmp_path, version)
    kept, gone = lake.rows(), lake.files()[0]
    lost = local(gone.file_path)
    lake.delete({gone.file_path: [2]})
    lose(lost)
    assert wrong(fsck(lake)) == ["missing"]
    done = fsck(lake, Repairing.DAMAGE)
    assert any(f"{gone.record_count} rows of {gone.file_path} are lost" in one.repair for one in done)
    assert len(lake.rows()) < len(kept)
    assert set(lake.rows()) < set(kept)
    answers = [one for one in fsck(lake) if one.finding.snapshot_id == head(lake).snapshot_id]
    assert answers == []


def test_a_lost_deletion_vector_brings_its_rows_back_and_says_so(tmp_path: Path) -> None:
    lake = small(tmp_path, 3)
    (vector,) = local(lake.load().metadata.location).rglob("*.puffin")
    rows = lake.rows()
    scramble(vector)
    assert set(wrong(fsck(lake))) == {"deletion vector"} | (set(wrong(fsck(lake))) & {"checksum"})
    done = fsck(lake, Repairing.DAMAGE)
    assert any("whose rows are back" in one.repair for one in done)
    assert head(lake).operation == "overwrite"
    assert len(lake.rows()) == len(rows) + 1


def test_a_file_of_another_size_and_other_rows(tmp_path: Path) -> None:
    lake = small(tmp_path)
    first, second = (local(one.file_path) for one in lake.files()[:2])
    shutil.copy(first, second)
    found = wrong(fsck(lake, data_files=True))
    assert "size" in found or {"count", "bound"} & set(found)


def edited(lake: Lake, change: Callable[[TableMetadata], TableMetadata]) -> None:
    """Metadata as a writer with a fault writes it: with the right checksum."""
    table = lake.load()
    file = local(table.metadata_location)
    file.write_bytes(encode_table_metadata(change(decode_table_metadata(file.read_bytes(), "m"))))


def with_head(metadata: TableMetadata, **changes: object) -> TableMetadata:
    *others, last = metadata.snapshots
    return replace(metadata, snapshots=(*others, replace(last, **changes)))  # type: ignore[arg-type]


FAULTS: dict[str, tuple[Callable[[TableMetadata], TableMetadata], str]] = {
    "a total": (
        lambda one: with_head(one, summary={**one.snapshots[-1].summary, "total-records": "99"}),
        "total",
    ),
    "a count of changes": (
        lambda one: with_head(one, summary={**one.snapshots[-1].summary, "added-delete-files": "7"}),
        "total",
    ),
    "two snapshots of an id": (lambda one: replace(one, snapshots=(*one.snapshots, one.snapshots[0])), "id"),
    "a parent that is a child": (
        lambda one: replace(
            one,
            snapshots=(replace(one.snapshots[0], parent_snapshot_id=one.snapshots[-1].snapshot_id), *one.snapshots[1:]),
        ),
        "history",
    ),
    "a reference to nothing": (
        lambda one: replace(one, refs={**one.refs, "b": replace(one.refs["main"], snapshot_id=5)}),
        "reference",
    ),
    "main is not the current snapshot": (
        lambda one: replace(one, current_snapshot_id=one.snapshots[0].snapshot_id),
        "reference",
    ),
    "a low last-sequence-number": (lambda one: replace(one, last_sequence_number=1), "sequence number"),
    "a sequence number below the parent's": (lambda one: with_head(one, sequence_number=1), "sequence number"),
    "a low last-column-id": (lambda one: replace(one, last_column_id=1), "id"),
    "a low last-partition-id": (lambda one: replace(one, last_partition_id=999), "id"),
    "a log that goes back": (lambda one: replace(one, snapshot_log=one.snapshot_log[::-1]), "reference"),
    "a schema that is not there": (lambda one: with_head(one, schema_id=77), "reference"),
    "statistics of no snapshot": (
        lambda one: replace(
            one, statistics=({"snapshot-id": 5, "statistics-path": "file:///no", "file-size-in-bytes": 3},)
        ),
        "missing",
    ),
    "a low next-row-id": (lambda one: replace(one, next_row_id=1), "row id"),
    "row ids given twice": (lambda one: with_head(one, first_row_id=0, added_rows=4), "row id"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_metadata_is_told(tmp_path: Path, fault: str) -> None:
    change, check = FAULTS[fault]
    lake = small(tmp_path, 3)
    edited(lake, change)
    assert check in wrong(fsck(lake))


def test_wrong_totals_are_right_after_a_repair(tmp_path: Path) -> None:
    lake = small(tmp_path)
    lake.commit(CreateReference("b.x", "branch", None))
    lake.commit(AppendFiles(()), destination=Destination("b.x"))
    rows = lake.rows()
    edited(lake, FAULTS["a total"][0])
    (found,) = fsck(lake)
    done = fsck(lake, Repairing.DAMAGE)
    assert "counts and totals" in done[0].repair
    assert lake.rows() == rows
    assert [one.finding for one in fsck(lake)] == [found.finding]
    assert fsck(lake, Repairing.DAMAGE) == fsck(lake)


def edited_list(lake: Lake, change: Callable[[ManifestFile], ManifestFile]) -> None:
    """A manifest list as a writer with a fault writes it."""
    snapshot = head(lake)
    listed = ManifestCache(0).manifests(LocalFileIO(), snapshot)
    data = encode_manifest_list(
        [change(listed[0]), *listed[1:]],
        snapshot_id=snapshot.snapshot_id,
        parent_snapshot_id=snapshot.parent_snapshot_id,
        sequence_number=snapshot.sequence_number,
        format_version=3,
        first_row_id=snapshot.first_row_id,
    )
    local(snapshot.manifest_list).write_bytes(data)


def below(summaries: Sequence[FieldSummary] | None) -> tuple[FieldSummary, ...]:
    return tuple(replace(summary, upper_bound=b"\xff" * 4) for summary in summaries or ())


LISTED: dict[str, tuple[Callable[[ManifestFile], ManifestFile], str]] = {
    "a number of files": (lambda one: replace(one, added_files_count=9), "count"),
    "a number of rows": (lambda one: replace(one, existing_rows_count=9), "count"),
    "the length": (lambda one: replace(one, length=9), "size"),
    "a bound that excludes files": (
        lambda one: replace(
            one, partitions=tuple(replace(summary, upper_bound=b"\xff" * 4) for summary in one.partitions or ())
        ),
        "bound",
    ),
    "the least sequence number": (lambda one: replace(one, min_sequence_number=99), "sequence number"),
    "the sequence number": (lambda one: replace(one, sequence_number=99), "sequence number"),
}


@pytest.mark.parametrize("fault", LISTED)
def test_what_a_manifest_list_says_wrongly_is_told_and_written_anew(tmp_path: Path, fault: str) -> None:
    change, check = LISTED[fault]
    lake = small(tmp_path, 3)
    edited_list(lake, change)
    assert check in wrong(fsck(lake))
    before = head(lake).snapshot_id
    fsck(lake, Repairing.DAMAGE)
    assert (head(lake).snapshot_id == before) == (fault == "the sequence number")
    assert {one.finding.snapshot_id for one in fsck(lake)} <= {before}, fsck(lake)


def manifests_of(lake: Lake, snapshot_id: int | None) -> list[Path]:
    assert snapshot_id is not None
    listed = ManifestCache(0).manifests(LocalFileIO(), lake.load().metadata.snapshot(snapshot_id))
    return [local(one.path) for one in listed]


def test_another_commit_while_a_table_is_repaired(tmp_path: Path) -> None:
    lake = small(tmp_path)
    edited(lake, FAULTS["a total"][0])
    found = examine(lake.catalog, T)
    lake.append(id=[9], s=["y"])
    assert found.table is not None
    with refused("CONCURRENT_CHANGE"):
        repair_branches(lake.environment, "lake", found.table, found)
