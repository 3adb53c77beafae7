"""The files that may have the first rows of a sort order, compared with a sort of all rows."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sqlext.scan.first_rows import FirstRows, tasks_of_first_rows
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spec.single_value import encode
from sqlext.spec.types import DoubleType, LongType, NestedField
from unit.scan.small_table import data_file

FIELD = NestedField(1, "n", LongType())
Values = list[int | None]


def task(values: Values, *, bounded: bool = True, deleted: int = 0, name: str = "f") -> FileScanTask:
    there = [value for value in values if value is not None]
    file = replace(
        data_file(name),
        record_count=len(values) + deleted,
        value_counts={1: len(values) + deleted},
        null_value_counts={1: len(values) - len(there)},
        lower_bounds={1: encode(FIELD.type, min(there))} if there and bounded else None,
        upper_bounds={1: encode(FIELD.type, max(there))} if there and bounded else None,
    )
    return FileScanTask(file, 1, 0, deleted_rows=deleted)


def first(values: Values, wanted: FirstRows) -> Values:
    there = sorted((value for value in values if value is not None), reverse=wanted.descending)
    nulls: Values = [None] * (len(values) - len(there))
    return ([*nulls, *there] if wanted.nulls_first else [*there, *nulls])[: wanted.count]


@pytest.mark.parametrize("seed", range(300))
def test_the_first_rows_of_the_files_left_are_those_of_all(seed: int) -> None:
    rng = random.Random(seed)
    wanted = FirstRows(FIELD, rng.random() < 0.5, rng.random() < 0.5, rng.randint(1, 12))
    files: list[Values] = []
    for _ in range(rng.randint(1, 12)):
        start = rng.randint(0, 60)
        files.append([None if rng.random() < 0.2 else start + rng.randint(0, 8) for _ in range(rng.randint(1, 5))])
    tasks = [
        task(file, bounded=rng.random() < 0.9, deleted=rng.randint(0, 2), name=str(n)) for n, file in enumerate(files)
    ]
    left = tasks_of_first_rows(tasks, wanted)
    rows = [value for one in left for value in files[tasks.index(one)]]
    assert first(rows, wanted) == first([value for file in files for value in file], wanted), seed


def test_files_behind_the_last_of_the_first_rows_are_left_out() -> None:
    tasks = [task([10 * n, 10 * n + 5], name=str(n)) for n in range(6)]
    assert tasks_of_first_rows(tasks, FirstRows(FIELD, False, False, 3)) == tasks[:2]
    assert tasks_of_first_rows(tasks, FirstRows(FIELD, True, False, 2)) == tasks[5:]
    assert tasks_of_first_rows(tasks, FirstRows(FIELD, False, False, 13)) == tasks


def test_files_whose_rows_are_not_sure_do_not_count() -> None:
    sure, unsure = task([5, 6]), replace(task([1, 2]), equality_groups=(0,))
    assert tasks_of_first_rows([unsure, sure], FirstRows(FIELD, False, False, 2)) == [unsure, sure]
    floats = FirstRows(replace(FIELD, type=DoubleType()), False, False, 1)
    assert tasks_of_first_rows([sure, task([9])], floats) == [sure, task([9])]
