"""Texts that come as codes of a dictionary: files have the values, statistics and dictionaries as of plain texts."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from sqlext.scan.live_rows import RowColumns, live_rows
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import IdentityTransform
from sqlext.spec.types import LongType, NestedField, StringType
from sqlext.storage.file_io import LocalFileIO
from sqlext.write import data_writer
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.coded_texts import decoded
from sqlext.write.commit_message import decode_messages
from sqlext.write.task import write_rows
from sqlext.write.write_plan import WritePlan
from unit.write.write_tables import plan

SCHEMA = Schema(
    (NestedField(1, "id", LongType()), NestedField(2, "few", StringType()), NestedField(3, "many", StringType()))
)
BY_FEW = PartitionSpec(1, (PartitionField(2, 1000, "few", IdentityTransform()),))
COLUMNS = RowColumns(SCHEMA.fields, schema_to_arrow(SCHEMA))
IO = LocalFileIO()


def written(target: WritePlan, batches: Iterable[pa.RecordBatch], number: int = 0) -> list[ContentFile]:
    task = write_rows(target, task_identity=lambda: (number, 0))
    messages = [one for batch in task(iter(batches)) for one in decode_messages(batch)]
    assert {one.kind for one in messages} <= {"file", "counts"}, messages
    return [one.content_file for one in messages if one.kind == "file"]


def stored(folder: Path, rng: random.Random) -> tuple[list[ContentFile], list[BitMap64]]:
    """A few files, in which the texts are few, many, or none, and the deleted positions of each."""
    files, deletes = [], []
    for number in range(rng.randrange(1, 5)):
        count, words = rng.choice([1, 100, 5000]), [f"w{one}é" for one in range(rng.choice([1, 3, 40]))]
        few = [None if rng.random() < 0.1 else rng.choice(words) for _ in range(count)]
        many = [rng.choice(["", "x", None, str(rng.random())]) for _ in range(count)]
        rows = pa.RecordBatch.from_pydict({"id": list(range(count)), "few": few, "many": many}, schema=COLUMNS.arrow)
        files += written(plan(folder / str(number), SCHEMA, row_group_rows=rng.choice([None, 700])), [rows])
        gone = rng.choice(words)
        deletes.append(BitMap64(one for one in range(count) if few[one] == gone or rng.random() < 0.2))
    return files, deletes


def read(files: list[ContentFile], deletes: list[BitMap64], *, coded: bool) -> Iterator[pa.RecordBatch]:
    for file, gone in zip(files, deletes, strict=True):
        task = FileScanTask(file, 1, 0, gone.serialize())
        yield from live_rows(IO, task, COLUMNS, lineage=False, threads=False, coded=coded)


def rows_of(files: list[ContentFile]) -> list[dict[str, Any]]:
    return [
        row for file in files for row in pq.ParquetFile(pa.BufferReader(IO.read(file.file_path))).read().to_pylist()
    ]


@pytest.mark.parametrize("spec", [UNPARTITIONED, BY_FEW], ids=["whole", "by text"])
@pytest.mark.parametrize("seed", range(25))
def test_files_are_those_of_plain_texts(tmp_path: Path, seed: int, spec: PartitionSpec) -> None:
    rng = random.Random(seed)
    files, deletes = stored(tmp_path / "old", rng)
    size = rng.choice([None, 500])
    coded, plain = (
        written(plan(tmp_path / str(way), SCHEMA, spec, row_group_rows=size), read(files, deletes, coded=way))
        for way in (True, False)
    )
    assert rows_of(coded) == rows_of(plain)
    assert list(map(_told, coded)) == list(map(_told, plain))
    for one, other in zip(coded, plain, strict=True):
        assert _chunks(one) == _chunks(other)
        assert _dictionaries(one) == _dictionaries(other)


def _told(file: ContentFile) -> Any:
    return file.record_count, file.partition, file.lower_bounds, file.upper_bounds, file.null_value_counts


def _chunks(file: ContentFile) -> list[Any]:
    """Of each row group its rows, the statistics of its columns, and how its texts are stored."""
    footer = pq.read_metadata(pa.BufferReader(IO.read(file.file_path)))
    found = []
    for group in map(footer.row_group, range(footer.num_row_groups)):
        columns = list(map(group.column, range(3)))
        texts = columns[1].encodings, columns[1].has_dictionary_page
        found.append((group.num_rows, [one.statistics.to_dict() for one in columns], texts))
    return found


def _dictionaries(file: ContentFile) -> list[set[str]]:
    opened = pq.ParquetFile(pa.BufferReader(IO.read(file.file_path)), read_dictionary=["few"])
    columns = [opened.read_row_group(index).column("few") for index in range(opened.num_row_groups)]
    return [{value for chunk in column.chunks for value in chunk.dictionary.to_pylist()} for column in columns]


def test_few_texts_come_as_codes_and_many_do_not(tmp_path: Path) -> None:
    count = 5000
    rows = {"id": list(range(count)), "few": ["a", "b"] * (count // 2), "many": [str(one) for one in range(count)]}
    files = written(plan(tmp_path, SCHEMA), [pa.RecordBatch.from_pydict(rows, schema=COLUMNS.arrow)])
    (batch,) = read(files, [BitMap64()], coded=True)
    assert [pa.types.is_dictionary(column.type) for column in batch.columns] == [False, True, False]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("index", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32()], ids=str)
def test_files_that_say_that_their_texts_were_codes(tmp_path: Path, index: pa.DataType, ordered: bool) -> None:
    """As those of pandas and Polars, whose categories have codes of any width, and may be in an order."""
    words = [f"w{number}" for number in range(100)]
    few = [None, *words] * 20
    codes = pa.array(few).dictionary_encode().cast(pa.dictionary(index, pa.string(), ordered=ordered))
    fields = [pa.field("few", codes.type, metadata={"PARQUET:field_id": "2"})]
    path = tmp_path / "old.parquet"
    pq.write_table(pa.table([codes], pa.schema(fields)), path)
    foreign = ContentFile(Content.DATA, str(path), "PARQUET", 0, (), len(few), path.stat().st_size)
    rest = {"id": [None] * 3, "few": ["a", None, "a"], "many": [None] * 3}
    own = written(plan(tmp_path / "own", SCHEMA), [pa.RecordBatch.from_pydict(rest, schema=COLUMNS.arrow)])
    files, nothing = [foreign, *own], [BitMap64()] * 2
    plain = list(read(files, nothing, coded=False))
    assert not any(pa.types.is_dictionary(batch.column(1).type) for batch in plain)
    for order in (files, files[::-1]):
        (file,) = written(plan(tmp_path / str(len(list(tmp_path.iterdir()))), SCHEMA), read(order, nothing, coded=True))
        expected = [*few, "a", None, "a"] if order is files else ["a", None, "a", *few]
        assert [row["few"] for row in rows_of([file])] == expected


def test_a_file_whose_later_rows_are_no_codes(tmp_path: Path) -> None:
    """The first row group decides; later ones are coded, or decoded, alike."""
    codes = pa.array(["a", "b", None]).dictionary_encode()
    batches = [
        pa.record_batch([pa.array([1, 2, 3]), few, pa.array(["x", "y", "z"])], names=["id", "few", "many"])
        for few in (codes, pa.array(["c", None, "a"]), pa.array(["d", "d", "e"]).dictionary_encode())
    ]
    for order in (batches, batches[::-1], [batches[1], batches[0], batches[2]]):
        (file,) = written(plan(tmp_path / str(len(list(tmp_path.iterdir()))), SCHEMA, row_group_rows=3), order)
        assert [row["few"] for row in rows_of([file])] == [
            value for one in order for value in one.column(1).to_pylist()
        ]


@pytest.mark.parametrize("spec", [UNPARTITIONED, BY_FEW], ids=["unpartitioned", "partitioned"])
def test_a_batch_of_codes_is_taken_in_parts_of_as_many_values_as_a_row_group_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: PartitionSpec
) -> None:
    """As values it may be more than an array holds, which is 2 GB of texts."""
    monkeypatch.setattr(data_writer, "MAX_GROUP_BYTES", 20_000)
    most = []

    def watched(batch: pa.RecordBatch) -> pa.RecordBatch:
        values = decoded(batch)
        most.append(values.nbytes)
        return values

    monkeypatch.setattr(data_writer, "decoded", watched)
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 250, pa.int32()), pa.array(["y" * 1000, "z" * 10]))
    rows = pa.RecordBatch.from_arrays([pa.array(range(500)), texts, pa.nulls(500, pa.string())], COLUMNS.arrow.names)
    files = written(plan(tmp_path, SCHEMA, spec, uncompressed_row_groups=True), [rows])
    assert sorted(rows_of(files), key=lambda one: one["id"]) == rows.to_pylist()
    if spec is BY_FEW:
        assert max(most) <= 20_000 + 500 * 12
    else:
        assert len(_chunks(files[0])) > 5
