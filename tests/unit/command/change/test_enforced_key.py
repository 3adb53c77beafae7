"""Keys that may come in once only: looked up by the driver in the files that may have one of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyroaring import BitMap64

from sqlext.command.change.enforced_key import (
    Removed,
    have_plain_keys,
    is_enforced,
    require_distinct_files,
    require_unique_keys,
)
from sqlext.command.change.row_level import Target
from sqlext.command.write_operation import begin_write
from sqlext.spark.query.write_job import task_identity, write_on_driver
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.write.task import write_rows
from unit.command.lake import Lake, refused, rows_for

NOTHING = Removed()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _enforced(lake: Lake, columns: str = "id BIGINT", key: str = "id", more: str = "") -> Target:
    lake.create(f"CREATE TABLE t ({columns}, PRIMARY KEY ({key}) ENFORCED) {more}")
    return lake.target()


def _written(lake: Lake, **columns: Sequence[Any]) -> Sequence[ContentFile]:
    """Files of new rows, not committed yet."""
    target = lake.target()
    operation = begin_write(target.table.metadata, target.version.io, "t", lake.environment.rng)
    task = write_rows(operation.plan, task_identity=task_identity)
    return write_on_driver(rows_for(target, **columns), task).data_files


def _checked(lake: Lake, files: Sequence[ContentFile], removed: Removed = NOTHING) -> Predicate | None:
    return require_unique_keys(lake.environment, None, lake.target(), files, removed)


@pytest.mark.parametrize(
    ("text", "enforced"),
    [
        ("CREATE TABLE t (id BIGINT, PRIMARY KEY (id) ENFORCED)", True),
        ("CREATE TABLE t (id BIGINT, PRIMARY KEY (id))", False),
        ("CREATE TABLE t (id BIGINT)", False),
        ("CREATE TABLE t (id BIGINT, PRIMARY KEY (id)) TBLPROPERTIES ('merge-engine'='first-row')", True),
    ],
)
def test_a_merge_engine_enforces_a_key_too(lake: Lake, text: str, enforced: bool) -> None:
    metadata = lake.create(text).metadata
    assert is_enforced(metadata) is enforced


def test_files_do_not_hold_a_uuid_as_spark_shows_it(lake: Lake) -> None:
    assert have_plain_keys(_enforced(lake, "id BIGINT, u UUID").table.metadata.schema())
    assert not have_plain_keys(lake.create("CREATE TABLE u (u UUID, PRIMARY KEY (u))").metadata.schema())


def test_a_key_that_is_there_is_named(lake: Lake) -> None:
    _enforced(lake)
    lake.append(id=[1, 2, 3])
    lake.append(id=[10, 11])
    with refused("KEY_ALREADY_EXISTS", "lake.db.t", '{"id": 3}, {"id": 10}'):
        _checked(lake, _written(lake, id=[3, 4, 10]))
    assert _checked(lake, _written(lake, id=[4, 9])) is not None
    assert _checked(lake, []) is None


def test_a_key_that_comes_twice_in_two_files_is_named(lake: Lake) -> None:
    target = _enforced(lake)
    files = [*_written(lake, id=[1, 2]), *_written(lake, id=[3, 2])]
    with refused("DUPLICATE_KEY", '{"id": 2}'):
        _checked(lake, files)
    for removed in (Removed(everything=True), NOTHING):
        with refused("DUPLICATE_KEY", '{"id": 2}'):
            _checked(lake, files, removed)
    with refused("DUPLICATE_KEY", '{"id": 2}'):
        require_distinct_files(target.version.io, target.table.metadata, files, "t")


def test_rows_that_go_in_the_same_commit_do_not_count(lake: Lake) -> None:
    _enforced(lake)
    lake.append(id=[1, 2, 3])
    path = lake.files()[0].file_path
    files = _written(lake, id=[1, 3])
    for removed in (
        Removed(everything=True),
        Removed(paths=frozenset({path})),
        Removed(positions={path: BitMap64([0, 2])}),
    ):
        _checked(lake, files, removed)
    with refused("KEY_ALREADY_EXISTS", ': {"id": 3}'):
        _checked(lake, files, Removed(positions={path: BitMap64([0, 1])}))
    with refused("KEY_ALREADY_EXISTS", '{"id": 1}, {"id": 3}'):
        _checked(lake, files, Removed(paths=frozenset({f"{path}.other"})))


def test_a_file_that_goes_does_not_shift_the_keys_of_the_next(lake: Lake) -> None:
    _enforced(lake)
    lake.append(id=[1, 2, 3])
    lake.append(id=[4, 5])
    first, second = (file.file_path for file in lake.files())
    files = _written(lake, id=[3, 4, 2, 5])
    for removed, named in ((first, '{"id": 4}, {"id": 5}'), (second, '{"id": 3}, {"id": 2}')):
        with refused("KEY_ALREADY_EXISTS", f": {named}"):
            _checked(lake, files, Removed(paths=frozenset({removed})))


def test_rows_that_are_deleted_do_not_count(lake: Lake) -> None:
    _enforced(lake)
    lake.append(id=[1, 2])
    lake.delete({lake.files()[0].file_path: [0]})
    _checked(lake, _written(lake, id=[1]))
    with refused("KEY_ALREADY_EXISTS"):
        _checked(lake, _written(lake, id=[2]))


def test_a_commit_depends_on_the_range_of_its_keys(lake: Lake) -> None:
    """Another commit that adds rows in it is a conflict; one that adds rows of other keys is none."""
    _enforced(lake)
    read = _checked(lake, _written(lake, id=[5, 9]))
    assert read is not None
    assert not isinstance(read, AlwaysTrue)
    lake.append(id=[4, 10])
    version = lake.target().version
    assert lake.environment.scans.plan(version, read).tasks, "the file's bounds span the range"
    lake.create("CREATE TABLE u (id BIGINT, PRIMARY KEY (id) ENFORCED)")
    lake.append("u", id=[10, 11])
    assert not lake.environment.scans.plan(lake.target("u").version, read).tasks


def test_a_key_of_two_columns_is_the_pair(lake: Lake) -> None:
    _enforced(lake, "a BIGINT, `b.c` STRING", "a, `b.c`", "PARTITIONED BY (a)")
    lake.append(a=[1, 2], **{"b.c": ["x", "y"]})
    _checked(lake, _written(lake, a=[1, 2], **{"b.c": ["y", "x"]}))
    with refused("KEY_ALREADY_EXISTS", '{"a": 2, "`b.c`": "y"}'):
        _checked(lake, _written(lake, a=[1, 2], **{"b.c": ["y", "y"]}))
