from __future__ import annotations

import io
import json
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from sqlext.errors import CorruptionError, NotFoundError, UnsupportedError
from sqlext.scan.deletes.position_delete import read_position_deletes
from sqlext.scan.files.file_columns import FileColumnsCache, Reading
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.name_mapping import NameMapping
from sqlext.storage.file_io import LocalFileIO

MAPPING = NameMapping.of_table({"schema.name-mapping.default": '[{"field-id": 1, "names": ["id"]}]'})


def content_file(path: Path, file_format: str) -> ContentFile:
    return ContentFile(Content.DATA, str(path), file_format, 0, (), 1, 1)


def reading(path: Path, file_format: str, mapping: NameMapping | None) -> Reading | None:
    (found,) = FileColumnsCache().readings(LocalFileIO(), [content_file(path, file_format)], mapping)
    return found


def with_id(name: str, field_id: int, key: str) -> pa.Field:
    return pa.field(name, pa.int32(), metadata={key: str(field_id)})


def test_parquet(tmp_path: Path) -> None:
    plain, with_ids = tmp_path / "plain.parquet", tmp_path / "ids.parquet"
    pq.write_table(pa.table({"id": [1], "x": [2]}), plain)
    pq.write_table(pa.table([[1]], schema=pa.schema([with_id("other", 1, "PARQUET:field_id")])), with_ids)
    assert reading(plain, "PARQUET", MAPPING) == Reading("PARQUET", ((1, "id"),))
    assert reading(with_ids, "PARQUET", MAPPING) is None
    assert reading(tmp_path / "not looked at", "PARQUET", None) is None


def test_parquet_with_field_ids_that_lacks_a_partition_column(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table([[1]], schema=pa.schema([with_id("other", 1, "PARQUET:field_id")])), path)
    files, io = [content_file(path, "PARQUET")], LocalFileIO()
    assert FileColumnsCache().readings(io, files, MAPPING, {0: frozenset({1})}) == [None]
    assert FileColumnsCache().readings(io, files, MAPPING, {0: frozenset({2})}) == [Reading("PARQUET", ((1, "other"),))]


def test_orc(tmp_path: Path) -> None:
    plain = tmp_path / "plain.orc"
    orc.write_table(pa.table({"id": [1]}), plain)
    assert reading(plain, "ORC", MAPPING) == Reading("ORC", ((1, "id"),))
    with pytest.raises(UnsupportedError, match=r"without field ids \(such as .*plain.orc"):
        reading(plain, "ORC", None)


def test_avro(tmp_path: Path) -> None:
    schema = {
        "type": "record",
        "name": "table",
        "fields": [
            {"name": "a_x2Eb", "type": ["null", "int"], "field-id": 7},
            {
                "name": "s",
                "field-id": 2,
                "type": {"type": "record", "name": "r2", "fields": [{"name": "x", "type": "int", "field-id": 3}]},
            },
        ],
    }
    data = io.BytesIO()
    fastavro.writer(data, fastavro.parse_schema(json.loads(json.dumps(schema))), [{"a_x2Eb": 1, "s": {"x": 2}}])
    path = tmp_path / "f.avro"
    path.write_bytes(data.getvalue())
    assert reading(path, "AVRO", None) == Reading("AVRO", ((7, "a_x2Eb"), (2, "s"), (3, "x")))


@pytest.mark.parametrize("file_format", ["PARQUET", "ORC", "AVRO"])
def test_files_that_are_lost_or_damaged_are_named(tmp_path: Path, file_format: str) -> None:
    path = tmp_path / "damaged"
    with pytest.raises(NotFoundError, match="damaged"):
        reading(path, file_format, MAPPING)
    path.write_bytes(b"Obj\x01 and then nothing that makes sense")
    with pytest.raises(CorruptionError, match="damaged"):
        reading(path, file_format, MAPPING)


@pytest.mark.parametrize("file_format", ["PARQUET", "ORC", "AVRO"])
def test_position_deletes_of_every_format(tmp_path: Path, file_format: str) -> None:
    path = tmp_path / "deletes"
    rows = [
        {"file_path": f"file:///warehouse/{name}.parquet", "pos": pos} for name, pos in (("a", 1), ("a", 5), ("b", 0))
    ]
    table = pa.Table.from_pylist(rows)
    if file_format == "AVRO":
        fields = [("file_path", "string", 2147483546), ("pos", "long", 2147483545)]
        record = [{"name": name, "type": type_, "field-id": id_} for name, type_, id_ in fields]
        with path.open("wb") as out:
            fastavro.writer(out, {"type": "record", "name": "position_delete", "fields": record}, rows)
    else:
        (pq.write_table if file_format == "PARQUET" else orc.write_table)(table, path)
    found = read_position_deletes(LocalFileIO(), str(path), file_format)
    assert {name[-9:]: list(positions) for name, positions in found.items()} == {"a.parquet": [1, 5], "b.parquet": [0]}
