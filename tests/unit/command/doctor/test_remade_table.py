"""Tables whose metadata is gone: what manifests tell of them, and what data files do."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.doctor.answer import Answer, Repairing
from sqlext.command.doctor.consultation import consult
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.commit.actions.schema_change import ChangeSchema
from sqlext.commit.actions.spec_change import AddField, ChangeSpec, FieldTerm
from sqlext.scan.checks.finding import Severity
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema_change import AddColumn, DropColumn, RenameColumn
from sqlext.spec.transform import IdentityTransform, MonthTransform
from sqlext.spec.types import StringType
from sqlext.storage.location import to_local_path
from unit.command.doctor.test_consultation import small
from unit.command.lake import NAMESPACE, Lake, refused
from unit.command.maintenance.random_history import RandomHistory


def fsck(lake: Lake, repair: Repairing = Repairing.NOTHING, table: str = "t", **given: bool) -> Sequence[Answer]:
    return consult(lake.environment, "lake", TableIdentifier(NAMESPACE, table), repair, **given)


def errors(answers: Sequence[Answer]) -> list[Answer]:
    return [one for one in answers if one.finding.severity == Severity.ERROR]


def folder(lake: Lake, table: str = "t") -> Path:
    return Path(to_local_path(lake.load(table).metadata.location))


def lose(files: Sequence[Path]) -> None:
    for file in files:
        file.unlink()


def cut(files: Sequence[Path]) -> None:
    """So that the beginning is left."""
    for file in files:
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2])


def metadata_files(lake: Lake, table: str = "t") -> list[Path]:
    return [file for file in (folder(lake, table) / "metadata").iterdir() if file.suffix in (".json", ".text")]


def remake(lake: Lake, way: Callable[[Sequence[Path]], None] = lose, table: str = "t") -> Answer:
    """The answer for a table that has lost all of its metadata files."""
    way(metadata_files(lake, table))
    *_, done = fsck(lake, Repairing.FROM_FILES, table)
    return done


# from manifests


@pytest.mark.parametrize("way", [lose, cut])
@pytest.mark.parametrize("version", [2, 3])
def test_manifests_tell_a_table_whose_metadata_files_are_gone(
    tmp_path: Path, version: int, way: Callable[[Sequence[Path]], None]
) -> None:
    lake = small(tmp_path, version)
    rows, before = lake.rows(), lake.load().metadata
    if way == cut:
        cut(metadata_files(lake))
        with refused("CORRUPT_FILE"):
            lake.load()
        *_, done = fsck(lake, Repairing.FROM_FILES)
    else:
        done = remake(lake)
    assert "properties, constraints, sort orders, statistics" in done.repair
    after = lake.load().metadata
    assert lake.rows() == rows
    assert (after.schema(), after.spec(), after.format_version) == (before.schema(), before.spec(), version)
    assert [one.snapshot_id for one in after.snapshots] == [one.snapshot_id for one in before.snapshots]
    assert [one.parent_snapshot_id for one in after.snapshots] == [one.parent_snapshot_id for one in before.snapshots]
    for one, other in zip(after.snapshots, before.snapshots, strict=True):
        assert (one.first_row_id, one.added_rows) == (other.first_row_id, other.added_rows)
        assert {**other.summary, **one.summary, "operation": ""} == {**other.summary, "operation": ""}
    for name in ("last_sequence_number", "next_row_id", "last_column_id", "last_partition_id"):
        assert getattr(after, name) == getattr(before, name), name
    assert (after.table_uuid == before.table_uuid) == (way == cut)
    assert fsck(lake, data_files=True) == []
    lake.upsert(id=[1, 9], s=["q", "r"])
    assert len(lake.rows()) == len(rows) + 1
    assert fsck(lake, data_files=True) == []


def test_heads_whose_names_are_lost_get_names(tmp_path: Path) -> None:
    lake = small(tmp_path)
    lake.commit(CreateReference("b.x", "branch", None))
    lake.append("t", "branch_b.x", id=[50], s=["b"])
    branch = lake.load().metadata.refs["b.x"].snapshot_id
    lake.append(id=[51], s=["main"])
    rows = lake.rows()
    done = remake(lake)
    assert f"found-{branch}" in done.repair
    assert lake.load().metadata.refs.keys() == {"main", f"found-{branch}"}
    assert lake.rows() == rows
    assert fsck(lake) == []


def test_a_snapshot_that_cannot_be_read_whole_is_left_out(tmp_path: Path) -> None:
    lake = small(tmp_path)
    rows = lake.rows()
    lake.append(id=[9], s=["y"])
    newest = max((folder(lake) / "metadata").glob("*-m0.avro"), key=lambda file: file.stat().st_mtime_ns)
    lose([newest])
    done = remake(lake)
    assert "left out, since not all of their manifests can be read" in done.repair
    assert lake.rows() == rows
    assert fsck(lake) == []


@pytest.mark.parametrize("seed", range(8))
def test_random_histories_are_told_by_their_manifests(tmp_path: Path, seed: int) -> None:
    history = RandomHistory(tmp_path, seed)
    for _ in range(14):
        history.step()
    lake = history.lake
    before, rows = lake.load().metadata, lake.rows()
    named = [one for one in before.refs.values() if one.type == "branch"]
    # After a rollback main is at another one, which manifests do not tell.
    newest = max(before.snapshots, key=lambda one: one.sequence_number)
    remake(lake)
    after = lake.load().metadata
    assert not errors(fsck(lake, data_files=True))
    heads = {one.snapshot_id for one in after.refs.values()}
    assert {one.snapshot_id for one in named} - {one.parent_snapshot_id for one in after.snapshots} <= heads
    if newest.snapshot_id == before.current_snapshot_id:
        assert after.current_snapshot_id == newest.snapshot_id
        assert lake.rows() == rows


# from data files


def remake_of_files(lake: Lake, table: str = "t") -> Answer:
    """The answer for a table whose metadata folder is gone."""
    shutil.rmtree(folder(lake, table) / "metadata")
    with refused("TABLE_OR_VIEW_NOT_FOUND"):
        fsck(lake, Repairing.DAMAGE, table)
    (done,) = fsck(lake, Repairing.FROM_FILES, table)
    return done


def spec_of(metadata: TableMetadata) -> list[tuple[str, str, str]]:
    schema = metadata.schema()
    return [(one.name, str(one.transform), schema.column_name(one.source_id)) for one in metadata.spec().fields]


@pytest.mark.parametrize("version", [2, 3])
def test_a_table_whose_metadata_folder_is_gone(tmp_path: Path, version: int) -> None:
    lake = small(tmp_path, version)
    before = lake.load().metadata
    done = remake_of_files(lake)
    after = lake.load().metadata
    # The row that was deleted by an equality is back, and the one that was deleted by its position is not.
    ids = [row[0] for row in lake.rows()]
    assert len(ids) == 8
    assert ids.count(1) == 2
    assert "1 rows are deleted by position" in done.repair
    assert "equality deletes, whose rows return" in done.repair
    assert after.schema() == before.schema()
    assert after.schema().identifier_field_ids == (1,)
    assert spec_of(after) == [("id_bucket", "bucket[2]", "id")]
    assert after.format_version == version
    assert fsck(lake, data_files=True) == []
    lake.upsert(id=[1, 20], s=["q", "r"])
    assert [row[0] for row in lake.rows()].count(1) == 1
    assert fsck(lake, data_files=True) == []


PARTITIONED = [
    "s",
    "bucket(4, id)",
    "bucket(7, s)",
    "truncate(3, s)",
    "truncate(10, id)",
    "truncate(5, n)",
    "years(ts)",
    "months(ts)",
    "days(d)",
    "hours(ts)",
    "d",
    "n",
    "b",
    "f",
    "u",
    "days(ts), bucket(4, id)",
    "s, months(ts), truncate(10, id)",
]


def sample(rng: random.Random, rows: int) -> dict[str, list[object]]:
    """Rows with nulls, and texts that a path has to escape."""
    texts = ["a b", "ä/ö", "x=y", "50%", "", "null", "long text that is long", "aab", "aabb", None]
    return {
        "id": [rng.randrange(-50, 5000) for _ in range(rows)],
        "s": [rng.choice(texts) for _ in range(rows)],
        "d": [rng.choice([0, -1, 19_000, 19_400, None]) for _ in range(rows)],
        "ts": [rng.choice([-1, 0, 1_700_000_000_000_000 + rng.randrange(10**12), None]) for _ in range(rows)],
        "n": [rng.choice([Decimal("1.27"), Decimal("-0.03"), Decimal("10.00"), None]) for _ in range(rows)],
        "b": [rng.choice([True, False, None]) for _ in range(rows)],
        "f": [rng.choice([0.5, -0.0, 1e300, None]) for _ in range(rows)],
        "u": [rng.choice(["one", "two"]) for _ in range(rows)],
    }


@pytest.mark.parametrize("terms", PARTITIONED)
@pytest.mark.parametrize("seed", range(2))
def test_partitioning_is_told_by_folders_and_values(tmp_path: Path, terms: str, seed: int) -> None:
    rng, lake = random.Random(seed), Lake(tmp_path)
    lake.create(
        "CREATE TABLE `a.b` (id BIGINT NOT NULL, s STRING, d DATE, ts TIMESTAMP, n DECIMAL(9, 2), b BOOLEAN, f DOUBLE,"
        f" u STRING, PRIMARY KEY (id)) PARTITIONED BY ({terms})"
    )
    for _ in range(3):
        lake.append("a.b", **sample(rng, 60))
    before, rows = lake.load("a.b").metadata, sorted(map(repr, lake.rows("a.b")))
    files = {file.file_path: file.partition for file in lake.files("a.b")}
    done = remake_of_files(lake, "a.b")
    after = lake.load("a.b").metadata
    assert spec_of(after) == spec_of(before), done.repair
    assert "not told" not in done.repair
    assert sorted(map(repr, lake.rows("a.b"))) == rows
    assert {file.file_path: file.partition for file in lake.files("a.b")} == files
    assert after.schema() == before.schema()
    assert fsck(lake, table="a.b", data_files=True) == []


def test_specs_that_followed_each_other_are_told_each(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, s STRING, d DATE)")
    lake.append(id=[1, 2], s=["a", "b"], d=[0, 1])
    for change in (
        AddField(FieldTerm(("s",), IdentityTransform())),
        AddField(FieldTerm(("d",), MonthTransform()), "period"),
    ):
        lake.commit(ChangeSpec((change,)))
        lake.append(id=[3, 4], s=["a", "b"], d=[10, 400])
    before, rows = lake.load().metadata, lake.rows()
    remake_of_files(lake)
    after = lake.load().metadata
    assert [len(one.fields) for one in after.partition_specs] == [0, 1, 2]
    assert spec_of(after) == spec_of(before) == [("s", "identity", "s"), ("period", "month", "d")]
    assert lake.rows() == rows
    assert fsck(lake, data_files=True) == []


def test_a_field_that_is_not_told_is_left_out_and_named(tmp_path: Path) -> None:
    """Of one value any number of buckets may be: that is a guess, and the files are as well without it."""
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, s STRING) PARTITIONED BY (bucket(16, id), s)")
    lake.append(id=[7, 7], s=["a", "a"])
    rows = lake.rows()
    done = remake_of_files(lake)
    assert "not told are the partition fields id_bucket, for which bucket[" in done.repair
    assert "fit alike" in done.repair
    assert spec_of(lake.load().metadata) == [("s", "identity", "s")]
    assert lake.rows() == rows
    assert fsck(lake, data_files=True) == []


def test_folders_that_lie_tell_nothing(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, s STRING) PARTITIONED BY (s)")
    lake.append(id=[1, 2], s=["a", "b"])
    rows = lake.rows()
    (one, other) = sorted((folder(lake) / "data").iterdir())
    one.rename(one.with_name("x"))
    other.rename(one)
    done = remake_of_files(lake)
    assert spec_of(lake.load().metadata) == []
    assert "not told are the partition fields s" in done.repair
    assert lake.rows() == rows


def test_renamed_columns_and_nested_ones(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, p STRUCT<`x.y`: INT, z: STRING>) PARTITIONED BY (p.z, bucket(3, p.`x.y`))")
    structs = [{"x.y": number, "z": "ab"[number % 2]} for number in range(40)]
    lake.append(id=list(range(1, 400, 10)), p=structs)
    lake.commit(ChangeSchema((RenameColumn(("p",), "q"),), False))
    lake.append(id=list(range(1, 400, 10)), q=structs)
    before, files = lake.load().metadata, {file.file_path: file.partition for file in lake.files()}
    remake_of_files(lake)
    after = lake.load().metadata
    assert after.schema() == before.schema()
    assert {file.file_path: file.partition for file in lake.files()} == files
    assert spec_of(after) == spec_of(before)
    assert fsck(lake, data_files=True) == []


def test_columns_that_took_the_name_of_another(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, a STRING, b STRING)")
    lake.append(id=[1], a=["a"], b=["b"])
    lake.commit(ChangeSchema((DropColumn(("b",)), AddColumn(("b",), StringType()), RenameColumn(("a",), "c")), False))
    lake.append(id=[2], b=["new"], c=["c"])
    before, files = lake.load().metadata.schema(), {file.file_path for file in lake.files()}
    done = remake_of_files(lake)
    assert "left out" not in done.repair
    assert lake.load().metadata.schema() == before
    assert {file.file_path for file in lake.files()} == files
    (old,) = (file for file in lake.files() if file.lower_bounds and file.lower_bounds.get(2) == b"a")
    # Its `b` is the column that was dropped.
    assert old.value_counts is not None
    assert old.value_counts.keys() == {1, 2}
    assert fsck(lake, data_files=True) == []


def test_vectors_and_rows_with_ids_of_version_3(tmp_path: Path) -> None:
    lake = small(tmp_path, 3)
    lake.delete({lake.files()[0].file_path: [2]})
    rows = lake.rows()
    vectors = sorted((folder(lake) / "data").rglob("*.puffin")) or sorted(folder(lake).rglob("*.puffin"))
    assert len(vectors) == 2
    done = remake_of_files(lake)
    assert "2 rows are deleted by position" in done.repair
    assert {row for row in rows if row[0] != 1} == {row for row in lake.rows() if row[0] != 1}
    assert fsck(lake, data_files=True) == []


def test_a_delete_file_that_is_damaged_is_named(tmp_path: Path) -> None:
    lake = small(tmp_path, 3)
    (vector,) = folder(lake).rglob("*.puffin")
    vector.write_bytes(vector.read_bytes()[::-1])
    done = remake_of_files(lake)
    assert f"{vector.name} has deletes, whose rows return, and cannot be read" in done.repair
    assert len(lake.rows()) == 9
