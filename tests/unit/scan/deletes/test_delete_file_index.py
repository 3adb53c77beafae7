"""Which deletes apply to which data files (spec: "Scan Planning")."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from sqlext.errors import CorruptionError
from sqlext.scan.deletes.delete_file_index import DeleteFileIndex, referenced_data_file
from sqlext.scan.deletes.position_delete import FILE_PATH_ID
from sqlext.scan.filter.measured_column import metrics_columns
from sqlext.spec.manifests.manifest import ManifestEntry
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.transform import VoidTransform
from unit.scan.small_table import BY_P, SCHEMA, added, bounds, data_file, equality_delete_file, position_delete_file

VOID = PartitionSpec(2, (PartitionField(2, 1000, "p", VoidTransform()),))


def index(*entries: ManifestEntry) -> DeleteFileIndex:
    specs = {0: UNPARTITIONED, 1: BY_P, 2: VOID}
    return DeleteFileIndex(entries, specs=specs, columns=metrics_columns((SCHEMA,)))


def applying(deletes: DeleteFileIndex, entry: ManifestEntry) -> list[str]:
    applying = (*deletes.position_deletes(entry), *deletes.equality_deletes(entry))
    return [one.file.file_path for one in applying]


def path_bounds(lower: str, upper: str) -> dict[str, Any]:
    return {"lower_bounds": {FILE_PATH_ID: lower.encode()}, "upper_bounds": {FILE_PATH_ID: upper.encode()}}


def test_position_deletes_apply_to_their_own_and_smaller_sequence_numbers() -> None:
    deletes = index(*(added(position_delete_file(f"d{number}"), number) for number in (3, 1, 2)))
    assert applying(deletes, added(data_file("f"), 2)) == ["d2", "d3"]
    assert applying(deletes, added(data_file("f"), 4)) == []


def test_equality_deletes_apply_to_smaller_sequence_numbers_only() -> None:
    deletes = index(*(added(equality_delete_file(f"d{number}"), number) for number in (3, 1, 2)))
    assert applying(deletes, added(data_file("f"), 2)) == ["d3"]
    assert applying(deletes, added(data_file("f"), 1)) == ["d2", "d3"]


def test_deletes_of_another_partition_do_not_apply() -> None:
    deletes = index(added(equality_delete_file("e", "b"), 5), added(position_delete_file("p", "b"), 5))
    assert applying(deletes, added(data_file("f", "a"), 1)) == []
    assert applying(deletes, added(data_file("f", "b"), 1)) == ["p", "e"]


@pytest.mark.parametrize(("spec_id", "partition"), [(0, ()), (2, (None,))])
def test_equality_deletes_of_an_unpartitioned_spec_are_global(spec_id: int, partition: tuple[Any, ...]) -> None:
    deletes = index(added(equality_delete_file("e", spec_id=spec_id, partition=partition), 5))
    assert applying(deletes, added(data_file("f", "a"), 1)) == ["e"]


def test_position_deletes_of_an_unpartitioned_spec_are_not_global() -> None:
    deletes = index(added(position_delete_file("p", spec_id=0, partition=()), 5))
    assert applying(deletes, added(data_file("f", "a"), 1)) == []
    assert applying(deletes, added(data_file("f", spec_id=0, partition=()), 1)) == ["p"]


def test_the_partition_of_null_and_of_nan_match_themselves() -> None:
    for one, same in ((None, None), (math.nan, float("nan"))):
        deletes = index(added(equality_delete_file("e", partition=(one,)), 5))
        assert applying(deletes, added(data_file("f", partition=(same,)), 1)) == ["e"]
    assert applying(deletes, added(data_file("f", partition=(0.0,)), 1)) == []


def test_referenced_path_wins_over_partition() -> None:
    deletes = index(
        added(position_delete_file("named", referenced_data_file="f1"), 5),
        added(position_delete_file("bounded", **path_bounds("f2", "f2")), 5),
        added(position_delete_file("shared", **path_bounds("f1", "f3")), 5),
    )
    assert applying(deletes, added(data_file("f1"), 1)) == ["named", "shared"]
    assert applying(deletes, added(data_file("f2"), 1)) == ["bounded", "shared"]
    assert applying(deletes, added(data_file("f4"), 1)) == []


def test_a_cut_bound_names_no_file() -> None:
    assert referenced_data_file(position_delete_file("d", **path_bounds("file:///a", "file:///b"))) is None
    assert referenced_data_file(position_delete_file("d")) is None


def test_equality_deletes_are_left_out_by_the_bounds_of_their_keys() -> None:
    deletes = index(
        added(equality_delete_file("low", **bounds(1, 5)), 5),
        added(equality_delete_file("high", **bounds(50, 60)), 5),
        added(equality_delete_file("unknown"), 5),
    )
    assert applying(deletes, added(data_file("f", **bounds(5, 9)), 1)) == ["low", "unknown"]
    assert applying(deletes, added(data_file("f"), 1)) == ["low", "high", "unknown"]


def test_null_keys_delete_null_keys() -> None:
    null_key = replace(
        equality_delete_file("e"), value_counts={1: 1}, null_value_counts={1: 1}, lower_bounds={}, upper_bounds={}
    )
    deletes = index(added(null_key, 5))
    assert applying(deletes, added(data_file("f", **bounds(1, 9)), 1)) == []
    with_null = {**bounds(1, 9), "null_value_counts": {1: 2}}
    assert applying(deletes, added(data_file("f", **with_null), 1)) == ["e"]


def test_bounds_of_columns_outside_the_key_say_nothing() -> None:
    file = replace(equality_delete_file("e", **bounds(50, 60)), equality_ids=(2,))
    assert applying(index(added(file, 5)), added(data_file("f", **bounds(1, 9)), 1)) == ["e"]


def test_no_deletes_make_an_empty_index() -> None:
    assert not index()
    assert index(added(equality_delete_file("e"), 1))


def vector(path: str, referenced: str | None) -> ManifestEntry:
    file = position_delete_file(path, file_format="PUFFIN", referenced_data_file=referenced, content_offset=4)
    return added(file, 2)


def test_a_deletion_vector_replaces_position_deletes_of_its_data_file() -> None:
    deletes = index(added(position_delete_file("d"), 1), vector("v.puffin", "f"), added(equality_delete_file("e"), 3))
    assert applying(deletes, added(data_file("f"), 1)) == ["v.puffin", "e"]
    assert applying(deletes, added(data_file("g"), 1)) == ["d", "e"]
    assert applying(index(vector("v.puffin", "f")), added(data_file("f"), 3)) == []


@pytest.mark.parametrize(("referenced", "reason"), [(None, "names no data file"), ("f", "f has another one")])
def test_two_deletion_vectors_of_a_data_file_are_refused(referenced: str | None, reason: str) -> None:
    with pytest.raises(CorruptionError, match=reason):
        index(vector("v.puffin", "f"), vector("w.puffin", referenced))
