"""Equality deletes resolved to positions in random files, compared with the spec's rule for each row."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from sqlext.errors import CorruptionError, NotFoundError
from sqlext.scan.resolved_keys import ResolvedKeys, can_resolve
from sqlext.scan.scan_plan import EqualityDeleteFile, EqualityDeleteGroup, FileScanTask, ScanPlan
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.name_mapping import NameMapping
from sqlext.spec.schema import Schema
from sqlext.spec.types import DoubleType, IntegerType, LongType, NestedField, StringType
from sqlext.storage.file_io import LocalFileIO
from unit.scan.small_table import MeetingIO

SCHEMA = Schema(
    (
        NestedField(1, "a", LongType()),
        NestedField(2, "b", StringType()),
        NestedField(3, "c", IntegerType()),
        NestedField(4, "d", DoubleType()),
    )
)
ARROW = {1: pa.int64(), 2: pa.string(), 3: pa.int32()}
VALUES = {1: [None, 1, 2, 3, -4], 2: [None, "", "x", "ü"], 3: [None, 0, 7]}


class Files:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made = 0

    def write(self, content: Content, rows: dict[int, list[object]], **more: object) -> ContentFile:
        """Writes a file of columns by field id."""
        self.made += 1
        path = self.folder / f"{self.made}.parquet"
        fields = [pa.field(f"f{id}", ARROW[id], metadata={b"PARQUET:field_id": str(id)}) for id in rows]
        columns = [pa.array(rows[id], ARROW[id]) for id in rows]
        pq.write_table(pa.table(columns, schema=pa.schema(fields)), path, row_group_size=7)
        count = len(columns[0])
        return ContentFile(content, str(path), "PARQUET", 0, (), count, path.stat().st_size, **more)  # type: ignore[arg-type]


def some_rows(rng: random.Random, ids: tuple[int, ...], count: int) -> dict[int, list[object]]:
    return {id: [rng.choice(VALUES[id]) for _ in range(count)] for id in ids}


@pytest.mark.parametrize("seed", range(20))
def test_the_rule_of_the_spec(tmp_path: Path, seed: int) -> None:
    rng, files = random.Random(seed), Files(tmp_path)
    groups, deleted_keys = [], []
    for ids in rng.sample([(1,), (2,), (1, 2), (1, 2, 3)], 2):
        is_global = rng.random() < 0.5
        deletes = []
        for _ in range(rng.randint(1, 4)):
            rows = some_rows(rng, ids, rng.randint(1, 3))
            ordinal = None if is_global else rng.randint(0, 1)
            number = rng.randint(1, 6)
            deletes.append(EqualityDeleteFile(files.write(Content.EQUALITY_DELETES, rows), number, ordinal))
            deleted_keys += [(ids, key, number, ordinal) for key in zip(*rows.values(), strict=True)]
        groups.append(EqualityDeleteGroup(ids, is_global, tuple(deletes)))
    tasks, expected = [], {}
    for _ in range(4):
        number, ordinal = rng.randint(0, 6), rng.randint(0, 1)
        # A file may lack a column that was added later.
        rows = some_rows(rng, rng.choice([(1, 2, 3), (2, 1), (3, 2, 1)]), 20)
        file = files.write(Content.DATA, rows)
        before = BitMap64(rng.sample(range(20), 2))
        groups_of = tuple(
            i for i, g in enumerate(groups) if g.is_global or ordinal in {d.partition_ordinal for d in g.files}
        )
        tasks.append(FileScanTask(file, number, ordinal, before.serialize(), len(before), groups_of))
        expected[file.file_path] = before | BitMap64(
            at
            for at in range(20)
            for ids, key, limit, scope in deleted_keys
            if number < limit
            and scope in (None, ordinal)
            and key == tuple(rows[id][at] if id in rows else None for id in ids)
        )
    plan = ScanPlan(tuple(tasks), tuple(groups))
    resolved = ResolvedKeys()
    for _ in range(2):
        found = resolved.resolve(LocalFileIO(), plan, SCHEMA)
        positions = {task.file.file_path: BitMap64.deserialize(task.position_deletes or b"") for task in found.tasks}
        assert positions == {path: rows for path, rows in expected.items() if len(rows) < 20}
        assert all(task.deleted_rows == len(positions[task.file.file_path]) for task in found.tasks)
        assert not found.equality_groups
        assert not any(task.equality_groups for task in found.tasks)


def small_plan(files: Files, ids: tuple[int, ...] = (1,)) -> ScanPlan:
    data = files.write(Content.DATA, {1: [1, 2]})
    deletes = files.write(Content.EQUALITY_DELETES, {1: [2]})
    group = EqualityDeleteGroup(ids, True, (EqualityDeleteFile(deletes, 2),))
    return ScanPlan((FileScanTask(data, 1, 0, None, 0, (0,)),), (group,))


def test_kept_positions_need_no_files(tmp_path: Path) -> None:
    plan, resolved = small_plan(Files(tmp_path)), ResolvedKeys()
    first = resolved.resolve(LocalFileIO(), plan, SCHEMA)
    for path in tmp_path.iterdir():
        path.unlink()
    assert resolved.resolve(LocalFileIO(), plan, SCHEMA) == first
    with pytest.raises(NotFoundError, match=r"\.parquet"):
        ResolvedKeys().resolve(LocalFileIO(), plan, SCHEMA)


def test_files_are_read_several_at_a_time(tmp_path: Path) -> None:
    files = Files(tmp_path)
    deletes = [EqualityDeleteFile(files.write(Content.EQUALITY_DELETES, {1: [key]}), 2, None) for key in (1, 2)]
    data = [files.write(Content.DATA, {1: [2, 3, 1]}) for _ in range(2)]
    tasks = tuple(FileScanTask(file, 1, 0, equality_groups=(0,)) for file in data)
    plan = ScanPlan(tasks, (EqualityDeleteGroup((1,), True, tuple(deletes)),))
    resolved = ResolvedKeys().resolve(MeetingIO(tmp_path), plan, SCHEMA)
    assert [list(one.deleted_positions()) for one in resolved.tasks] == [[0, 2], [0, 2]]


def test_a_delete_file_without_its_key_is_corrupt(tmp_path: Path) -> None:
    plan = small_plan(Files(tmp_path), (2,))
    with pytest.raises(CorruptionError, match="lacks a key column"):
        ResolvedKeys().resolve(LocalFileIO(), plan, SCHEMA)


def test_what_is_left_to_joins(tmp_path: Path) -> None:
    plan = small_plan(Files(tmp_path))
    assert can_resolve(plan, SCHEMA, None)
    assert not can_resolve(small_plan(Files(tmp_path), (4,)), SCHEMA, None)
    assert not can_resolve(small_plan(Files(tmp_path), (9,)), SCHEMA, None)
    assert not can_resolve(plan, SCHEMA, NameMapping.of_schema(SCHEMA))
    task = plan.tasks[0]
    many = replace(task, file=replace(task.file, record_count=100_000_000))
    assert not can_resolve(replace(plan, tasks=(many,)), SCHEMA, None)
    orc = replace(task, file=replace(task.file, file_format="ORC"))
    assert not can_resolve(replace(plan, tasks=(orc,)), SCHEMA, None)
