"""Tables whose metadata is gone: what manifests tell of them, and what data files do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.doctor.answer import Answer, Repairing
from sqlext.command.doctor.consultation import consult
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.scan.checks.finding import Severity
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
