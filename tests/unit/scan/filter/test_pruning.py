"""Pruning against the evaluation of each row, and against PyIceberg's evaluators."""

from __future__ import annotations

import math
import os
from decimal import Decimal
from random import Random
from typing import Any

import pyiceberg.expressions as pi
import pytest
from pyiceberg.expressions.visitors import _InclusiveMetricsEvaluator
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema as PyIcebergSchema
from pyiceberg.typedef import Record

from sqlext.scan.filter.file_filter import FileFilter
from sqlext.scan.filter.pruning import may_match, must_match, partition_ranges
from sqlext.scan.filter.value_range import ValueRange, decode_bound, point_range, summary_range
from sqlext.spec.expression import (
    And,
    Comparison,
    In,
    IsNaN,
    IsNull,
    Not,
    NotIn,
    NotNaN,
    NotNull,
    Or,
    Predicate,
    StartsWith,
)
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import (
    EntryStatus,
    FieldSummary,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    summarise_partitions,
)
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.transform import parse_transform
from sqlext.spec.types import DoubleType, FloatType, IntegerType, LongType, StringType
from unit.scan.random_rows import (
    COLUMNS,
    SCHEMA,
    TYPES,
    Row,
    data_file,
    evaluate,
    falsified,
    random_predicate,
    random_rows,
)

SEED = int(os.environ.get("SQLEXT_TEST_SEED", "20261121"))
TRANSFORMS = ("identity", "bucket[4]", "truncate[2]", "year", "month", "day", "hour", "void", "zorder[7]")


def random_spec(random: Random) -> PartitionSpec:
    fields: list[PartitionField] = []
    for _ in range(random.randint(1, 3)):
        source = random.choice(COLUMNS)
        transform = parse_transform(random.choice(TRANSFORMS))
        if transform.can_transform(source.type):
            fields.append(PartitionField(source.id, 1000 + len(fields), f"p{len(fields)}", transform))
    return PartitionSpec(1, tuple(fields))


def partitioned(rows: list[Row], spec: PartitionSpec) -> dict[str, tuple[tuple[Any, ...], list[Row]]]:
    partitions: dict[str, tuple[tuple[Any, ...], list[Row]]] = {}
    for row in rows:
        key = tuple(
            field.transform.apply(SCHEMA.field(field.source_id).type, row[field.source_id]) for field in spec.fields
        )
        partitions.setdefault(repr(key), (key, []))[1].append(row)
    return partitions


def test_pruned_files_and_manifests_hold_no_matching_row() -> None:
    """Whether metrics are right, missing, or made otherwise by a foreign writer."""
    pruned = kept = whole = by_metrics = 0
    for case in range(6000):
        random = Random(f"{SEED}-{case}")
        rows, spec = random_rows(random), random_spec(random)
        predicate = random_predicate(random, rows)
        clue = f"SQLEXT_TEST_SEED={SEED} case {case}: {predicate}"
        files = FileFilter(predicate, schema=SCHEMA, specs={1: spec})
        entries = []
        for partition, members in partitioned(rows, spec).values():
            file = data_file(random, members, 1, partition)
            if case % 2:
                file = falsified(random, file, members)
            entries.append(ManifestEntry(EntryStatus.ADDED, 1, 1, 1, file))
            outcomes = [evaluate(predicate, row) for row in members]
            if files.file_may_match(file):
                kept += 1
            else:
                pruned += 1
                assert True not in outcomes, clue
            if files.file_must_match(file):
                whole += 1
                assert set(outcomes) == {True}, clue
                by_metrics += not files.partition_must_match(file)
            else:
                assert not files.partition_must_match(file), clue
        if not files.manifest_may_match(manifest_of(entries, spec)):
            assert not any(evaluate(predicate, row) for row in rows), clue
    assert pruned > kept / 4
    assert whole > kept / 10
    assert whole > by_metrics > whole / 4


def manifest_of(entries: list[ManifestEntry], spec: PartitionSpec) -> ManifestFile:
    summaries = summarise_partitions([one.file.partition for one in entries], spec, SCHEMA)
    return ManifestFile("m.avro", 1, 1, ManifestContent.DATA, 1, 1, 1, len(entries), 0, 0, 9, 0, 0, summaries)


def test_prunes_what_pyiceberg_prunes() -> None:
    """But for NaN, which PyIceberg takes as smaller than nothing, and Spark as larger than all."""
    schema = PyIcebergSchema.model_validate(SCHEMA.to_json())
    compared = 0
    for case in range(5000):
        random = Random(f"{SEED}-{case}")
        rows = random_rows(random)
        predicate = random_predicate(random, rows, depth=2)
        translated = to_pyiceberg(predicate)
        if translated is None:
            continue
        file = data_file(random, rows)
        files = FileFilter(predicate, schema=SCHEMA, specs={0: UNPARTITIONED})
        if not _InclusiveMetricsEvaluator(schema, translated).eval(pyiceberg_file(file)):
            compared += 1
            assert not files.file_may_match(file), f"SQLEXT_TEST_SEED={SEED} case {case}: {predicate}"
    assert compared > 100


def pyiceberg_file(file: ContentFile) -> DataFile:
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=file.file_path,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=file.record_count,
        file_size_in_bytes=file.file_size_in_bytes,
        value_counts=file.value_counts,
        null_value_counts=file.null_value_counts,
        nan_value_counts=file.nan_value_counts,
        lower_bounds=file.lower_bounds,
        upper_bounds=file.upper_bounds,
    )


def to_pyiceberg(predicate: Predicate) -> Any:
    """None where the two differ by design: floats, binary, constants."""
    match predicate:
        case Not(child=child):
            inner = to_pyiceberg(child)
            return None if inner is None else pi.Not(inner)
        case And(left=left, right=right) | Or(left=left, right=right):
            sides = (to_pyiceberg(left), to_pyiceberg(right))
            joined = pi.And if isinstance(predicate, And) else pi.Or
            return None if None in sides else joined(*sides)
        case Comparison() | In() | NotIn() | IsNull() | NotNull() | StartsWith():
            return _to_pyiceberg_term(predicate)
    return None


def _to_pyiceberg_term(term: Any) -> Any:
    if term.id > len(TYPES):  # of a field in a struct PyIceberg believes what is not sure
        return None
    name, of = f"c{term.id}", TYPES[term.id - 1]
    if isinstance(of, (FloatType, DoubleType)) or not isinstance(of, (IntegerType, LongType, StringType)):
        return None
    match term:
        case IsNull():
            return pi.IsNull(name)
        case NotNull():
            return pi.NotNull(name)
        case StartsWith(prefix=prefix):
            return pi.StartsWith(name, prefix)
        case In(values=values):
            return pi.In(name, set(values)) if values else None
        case NotIn(values=values):
            return pi.NotIn(name, set(values)) if values else None
    made = {
        "<": pi.LessThan,
        "<=": pi.LessThanOrEqual,
        ">": pi.GreaterThan,
        ">=": pi.GreaterThanOrEqual,
        "=": pi.EqualTo,
        "!=": pi.NotEqualTo,
    }[term.op]
    return made(name, term.value)


@pytest.mark.parametrize(
    ("predicate", "matches"),
    [
        (Comparison(">", 1, 10.0), True),
        (Comparison("=", 1, math.nan), True),
        (Comparison("<", 1, 10.0), False),
        (Comparison("<=", 1, math.nan), True),
        (Comparison(">", 1, math.nan), False),
        (IsNaN(1), True),
        (NotNaN(1), False),
        (IsNull(1), False),
        (In(1, frozenset({1.0, math.nan})), True),
        (NotIn(1, frozenset({math.nan})), False),
    ],
)
def test_nan_is_the_largest_value_and_equals_itself(predicate: Predicate, matches: bool) -> None:
    assert may_match(predicate, lambda field_id: point_range(math.nan)) is matches
    assert must_match(predicate, lambda field_id: point_range(math.nan)) is matches


@pytest.mark.parametrize("predicate", [Comparison("=", 1, 0.0), Comparison(">=", 1, 0.0), In(1, frozenset({0.0}))])
def test_negative_zero_equals_zero(predicate: Predicate) -> None:
    assert must_match(predicate, lambda field_id: point_range(-0.0))
    assert not may_match(Not(predicate), lambda field_id: point_range(-0.0))


def test_null_is_neither_true_nor_false() -> None:
    nulls = partition_ranges((None,), PartitionSpec(1, (PartitionField(1, 1000, "p", parse_transform("identity")),)))
    for predicate in (Comparison("=", 1000, 1), NotIn(1000, frozenset({1}))):
        assert not may_match(predicate, nulls)
        assert not may_match(Not(predicate), nulls)
        assert not must_match(predicate, nulls)
    assert must_match(IsNull(1000), nulls)


def test_bounds_of_promoted_columns_keep_their_old_width() -> None:
    assert decode_bound(LongType(), (7).to_bytes(4, "little")) == 7
    assert decode_bound(IntegerType(), (7).to_bytes(8, "little")) == 7
    assert decode_bound(DoubleType(), b"\x00\x00\xc0\x3f") == 1.5


@pytest.mark.parametrize("bound", [b"\xf0\x9f", b"\xff"])
def test_a_string_bound_cut_inside_a_character_bounds_nothing(bound: bytes) -> None:
    assert decode_bound(StringType(), bound) is None


def test_summary_without_bounds_means_no_values() -> None:
    assert summary_range(FieldSummary(True), IntegerType()) == ValueRange(True, False, False)
    assert summary_range(FieldSummary(False, True), DoubleType()) == ValueRange(False, True, False)
    assert summary_range(FieldSummary(True, None), DoubleType()).may_be_nan
    assert summary_range(FieldSummary(False, False), IntegerType()) == ValueRange()


def test_a_file_without_rows_is_pruned() -> None:
    file = ContentFile(Content.DATA, "f", "PARQUET", 0, (), 0, 0)
    assert not FileFilter(NotNull(1), schema=SCHEMA, specs={0: UNPARTITIONED}).file_may_match(file)


def test_equality_delete_is_pruned_by_its_key_columns_only() -> None:
    one = {2: (1).to_bytes(4, "little"), 3: (1).to_bytes(8, "little")}
    file = ContentFile(
        Content.EQUALITY_DELETES, "f", "PARQUET", 0, (), 1, 1, equality_ids=(2,), lower_bounds=one, upper_bounds=one
    )
    by_key = FileFilter(Comparison("=", 2, 5), schema=SCHEMA, specs={0: UNPARTITIONED})
    by_other = FileFilter(Comparison("=", 3, 5), schema=SCHEMA, specs={0: UNPARTITIONED})
    assert not by_key.file_may_match(file)
    assert by_other.file_may_match(file)


def test_decimal_bounds_compare_as_numbers() -> None:
    low, high = (-5).to_bytes(1, "big", signed=True), (300).to_bytes(2, "big", signed=True)
    file = ContentFile(Content.DATA, "f", "PARQUET", 0, (), 1, 1, lower_bounds={6: low}, upper_bounds={6: high})

    def matches(op: str, value: str) -> bool:
        predicate = Comparison(op, 6, Decimal(value))  # type: ignore[arg-type]
        return FileFilter(predicate, schema=SCHEMA, specs={0: UNPARTITIONED}).file_may_match(file)

    assert matches("<", "-0.04")
    assert not matches("<", "-0.05")
    assert matches(">=", "3.00")
    assert not matches(">", "3.00")
