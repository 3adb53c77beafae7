"""Tables of Iceberg's and Flink's writers are healthy, and each fault of an entry is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from golden_tables.relocation import unpack
from sqlext.scan.checks.finding import Check, Finding, Severity
from sqlext.scan.checks.manifest_checks import (
    ManifestHeader,
    duplicate_findings,
    entry_findings,
    list_entry_findings,
    row_id_findings,
)
from sqlext.scan.checks.table_checks import check_table
from sqlext.scan.deletes.dangling_deletes import dangling_deletes
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import EntryStatus, FieldSummary, ManifestContent, ManifestEntry, ManifestFile
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata, new_table_metadata
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.single_value import encode
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.transform import MonthTransform
from sqlext.spec.types import DateType, IntegerType, LongType, NestedField
from sqlext.storage.file_io import LocalFileIO

GOLDEN = Path(__file__).parents[3] / "golden_tables"
TABLES = (*(f"d{number:02}" for number in range(1, 14)), *(f"f{number:02}" for number in range(1, 9)))


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("golden")
    sets = [unpack(GOLDEN / f"{name}.zip", root / name) for name in ("golden_dev", "golden_flink_dev")]
    return {folder.name[:3]: folder for one in sets for folder in one.iterdir() if folder.is_dir()}


@pytest.mark.parametrize("number", TABLES)
def test_tables_of_other_engines_are_healthy(golden: dict[str, Path], number: str) -> None:
    location = json.loads((golden[number] / "expected.json").read_text())["metadata"]
    metadata = decode_table_metadata(Path(location).read_bytes(), location)
    found = check_table(LocalFileIO(), metadata, location).findings
    # Relocation makes files of other sizes, and corrects the sizes in manifests but no totals.
    wrong = [one for one in found if not one.found.startswith("total-files-size")]
    # Flink deletes a key before it is there.
    assert {one.check for one in wrong if one.severity == Severity.NOTICE} <= {Check.DANGLING_DELETE}
    assert [one for one in wrong if one.severity != Severity.NOTICE] == []


SCHEMA = Schema((NestedField(1, "id", LongType()), NestedField(2, "day", DateType())))
SPEC = PartitionSpec(0, (PartitionField(2, 1000, "day_month", MonthTransform()),))


def table() -> TableMetadata:
    return new_table_metadata(SCHEMA, SPEC, UNSORTED, "file:///w/t", {}, 3, "u" * 36, 1)


def file(path: str = "file:///w/t/a.parquet", **given: object) -> ContentFile:
    made = ContentFile(
        Content.DATA,
        path,
        "PARQUET",
        0,
        (1,),
        10,
        100,
        value_counts={1: 10, 2: 10},
        null_value_counts={1: 0},
        lower_bounds={1: encode(LongType(), 1), 2: encode(DateType(), 31)},
        upper_bounds={1: encode(LongType(), 9), 2: encode(DateType(), 58)},
    )
    return replace(made, **given)  # type: ignore[arg-type]


def entry(of: ContentFile | None = None, number: int = 1) -> ManifestEntry:
    return ManifestEntry(EntryStatus.ADDED, 1, number, number, of or file())


MANIFEST = ManifestFile("file:///w/m.avro", 7, 0, ManifestContent.DATA, 1, 1, 1, 1, 0, 0, 10, 0, 0, partitions=None)
HEADER = ManifestHeader(0, ManifestContent.DATA)
LONG = LongType()

ENTRIES: dict[str, tuple[ContentFile, Check]] = {
    "a partition that its rows are not in": (file(partition=(2,)), Check.PARTITION_VALUE),
    "a partition of another type": (file(partition=("x",)), Check.PARTITION_VALUE),
    "more nulls than values": (file(null_value_counts={1: 11}), Check.COUNT),
    "a negative number of rows": (file(record_count=-1), Check.COUNT),
    "bounds the wrong way round": (file(lower_bounds={1: encode(LONG, 10)}), Check.BOUND),
    "a bound of another type": (file(lower_bounds={1: b"abc"}), Check.BOUND),
    "a delete file among data files": (file(content=Content.EQUALITY_DELETES), Check.REFERENCE),
}


@pytest.mark.parametrize("fault", ENTRIES)
def test_a_fault_of_an_entry_is_told(fault: str) -> None:
    assert list(entry_findings(MANIFEST, [entry()], table())) == []
    wrong, check = ENTRIES[fault]
    found = list(entry_findings(MANIFEST, [entry(), entry(wrong)], table()))
    assert {one.check for one in found} == {check}
    # Of a file that is no longer there nothing is read.
    gone = replace(entry(wrong), status=EntryStatus.DELETED)
    left = list(entry_findings(MANIFEST, [gone], table()))
    assert left == [] or fault in ("a negative number of rows", "a delete file among data files")


def summarised(manifest: ManifestFile, lower: int, upper: int, fields: int = 1) -> ManifestFile:
    summary = FieldSummary(False, False, encode(IntegerType(), lower), encode(IntegerType(), upper))
    return replace(manifest, partitions=(summary,) * fields)


LISTED: dict[str, tuple[Callable[[ManifestFile], ManifestFile], ManifestHeader, Check]] = {
    "length": (lambda one: replace(one, length=8), HEADER, Check.SIZE),
    "spec": (lambda one: one, ManifestHeader(1, ManifestContent.DATA), Check.PARTITION_SPEC),
    "content": (lambda one: one, ManifestHeader(0, ManifestContent.DELETES), Check.REFERENCE),
    "files": (lambda one: replace(one, deleted_files_count=1), HEADER, Check.COUNT),
    "rows": (lambda one: replace(one, added_rows_count=1), HEADER, Check.COUNT),
    "least sequence number": (lambda one: replace(one, min_sequence_number=2), HEADER, Check.SEQUENCE_NUMBER),
    "sequence number": (
        lambda one: replace(one, sequence_number=0, min_sequence_number=0),
        HEADER,
        Check.SEQUENCE_NUMBER,
    ),
    "summaries of two fields": (lambda one: summarised(one, 0, 9, 2), HEADER, Check.PARTITION_VALUE),
    "a summary that excludes a file": (lambda one: summarised(one, 2, 9), HEADER, Check.BOUND),
}


@pytest.mark.parametrize("fault", LISTED)
def test_a_fault_of_a_manifest_list_is_told(fault: str) -> None:
    assert list(list_entry_findings(MANIFEST, 7, HEADER, [entry()], table())) == []
    change, header, check = LISTED[fault]
    found: list[Finding] = list(list_entry_findings(change(MANIFEST), 7, header, [entry()], table()))
    assert [one.check for one in found] == [check]


def test_a_file_twice_and_row_ids_twice() -> None:
    first, second = entry(file(first_row_id=0)), entry(file("file:///w/t/b.parquet", first_row_id=10))
    live = [("m1", first), ("m2", second)]
    assert list(duplicate_findings(live, 1, "list")) == []
    assert list(row_id_findings(live, 1, 20)) == []
    assert [one.check for one in row_id_findings(live, 1, 19)] == [Check.ROW_ID]
    overlapping = [("m1", first), ("m2", entry(file("file:///w/t/b.parquet", first_row_id=9)))]
    assert [one.check for one in row_id_findings(overlapping, 1, 20)] == [Check.ROW_ID]
    assert [one.check for one in duplicate_findings([("m1", first), ("m2", first)], 1, "list")] == [Check.DUPLICATE]


@pytest.mark.parametrize(
    ("delete", "number", "dangles"),
    [
        (file("p", content=Content.POSITION_DELETES), 2, False),
        (file("p", content=Content.POSITION_DELETES), 1, True),
        (file("p", content=Content.POSITION_DELETES, partition=(5,)), 9, True),
        (file("p", content=Content.POSITION_DELETES, referenced_data_file="file:///w/t/a.parquet"), 2, False),
        (file("p", content=Content.POSITION_DELETES, referenced_data_file="file:///w/t/x.parquet"), 2, True),
        (file("p", content=Content.POSITION_DELETES, referenced_data_file="file:///w/t/a.parquet"), 1, True),
        (file("e", content=Content.EQUALITY_DELETES, equality_ids=(1,)), 3, False),
        (file("e", content=Content.EQUALITY_DELETES, equality_ids=(1,)), 2, True),
        (file("e", content=Content.EQUALITY_DELETES, equality_ids=(1,), spec_id=1, partition=()), 3, False),
        (file("e", content=Content.EQUALITY_DELETES, equality_ids=(1,), spec_id=1, partition=()), 2, True),
    ],
)
def test_deletes_that_apply_to_no_data_file(delete: ContentFile, number: int, dangles: bool) -> None:
    specs = {0: SPEC, 1: PartitionSpec(1, ())}
    found = list(dangling_deletes([entry(number=2)], [entry(replace(delete, lower_bounds=None), number)], specs))
    assert bool(found) == dangles, found
