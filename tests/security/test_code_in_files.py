"""What is read from storage is data: nothing of it is unpickled, evaluated or run, wherever in a table it stands."""

from __future__ import annotations

import ast
import json
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlext
from small_tables import ORDERS, Writer, data_file, equality_deletes, position_deletes, rows_of, warehouse_catalog
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.actions.staged_batch import load_staged
from sqlext.errors import SqlextError
from sqlext.storage.location import to_local_path

PACKAGE = Path(sqlext.__file__).parent
READERS_OF_CODE = {
    "pickle", "cloudpickle", "marshal", "shelve", "dill", "joblib", "yaml", "code", "runpy", "ctypes",
}  # fmt: skip
BUILT_IN = {"eval", "exec", "compile", "__import__"}
# Vectors and files of values in formats that can hold objects of Python.
LOADERS = {("np", "load"), ("numpy", "load"), ("np", "fromfile"), ("pa", "PyExtensionType"), ("pa", "deserialize")}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_can_read_code_from_a_file(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not {alias.name.partition(".")[0] for alias in node.names} & READERS_OF_CODE
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] not in READERS_OF_CODE
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in BUILT_IN
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) not in LOADERS


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (str(self.path), "w")


@pytest.fixture
def fuse(tmp_path: Path) -> Path:
    return tmp_path / "went-off"


@pytest.fixture
def bomb(fuse: Path) -> bytes:
    data = pickle.dumps(Bomb(fuse))
    pickle.loads(data).close()
    assert fuse.exists()
    fuse.unlink()
    return data


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    """A table with rows, deletes of both kinds, and all kinds of files."""
    writer = Writer(warehouse_catalog(tmp_path / "warehouse"))
    table = writer.create()
    table = writer.append(1, 2, 3, base=table).table
    metadata = table.metadata
    file = data_file(metadata, [4, 5])
    table = writer.commit(
        RowDelta(
            data_files=[file],
            delete_files=[equality_deletes(metadata, [1]), position_deletes(metadata, file, [0])],
            base_snapshot_id=metadata.current_snapshot_id,
        ),
        base=table,
    ).table
    assert sorted(row["id"] for row in rows_of(table)) == [2, 3, 5]
    return writer


def test_a_pickle_in_the_place_of_any_file_is_only_a_damaged_file(
    writer: Writer, tmp_path: Path, bomb: bytes, fuse: Path
) -> None:
    refused = 0
    for path in sorted(path for path in tmp_path.rglob("*") if path.is_file()):
        kept = path.read_bytes()
        for data in (bomb, kept[:4] + bomb, bomb + kept[-8:]):
            path.write_bytes(data)
            try:
                rows_of(writer.load())
            except (SqlextError, OSError, ValueError):
                refused += 1
            assert not fuse.exists()
        path.write_bytes(kept)
    assert refused > 10


def test_a_pickle_as_a_value_is_text(writer: Writer, bomb: bytes, fuse: Path) -> None:
    """In table properties, in the metadata that this version does not know, and in a staged batch of a stream."""
    table = writer.load()
    path = Path(to_local_path(table.metadata_location))
    metadata = json.loads(path.read_text())
    metadata["properties"].update(
        {name: bomb.decode("latin-1") for name in ("note", "sqlext.stream.q", "sqlext.check.c")}
    )
    metadata["unknown"] = {"!!python/object/apply:os.system": [f"touch {fuse}"], "py/reduce": [bomb.decode("latin-1")]}
    path.write_text(json.dumps(metadata))
    loaded = writer.catalog.load_table(ORDERS)
    assert sorted(row["id"] for row in rows_of(loaded)) == [2, 3, 5]
    staged = path.with_name("stream-q-1-t.json")
    staged.write_bytes(bomb)
    assert load_staged(writer.catalog.io, loaded.metadata, f"file://{staged}", "append") is None
    assert not fuse.exists()


def test_a_type_of_python_in_a_parquet_file_is_not_made(tmp_path: Path, bomb: bytes, fuse: Path) -> None:
    """Arrow's schema in a file's footer can name a type whose description was once unpickled (CVE-2023-47248)."""
    mark = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": bomb}
    field = pa.field("id", pa.int64(), metadata={**mark, b"PARQUET:field_id": b"1"})
    writer = Writer(warehouse_catalog(tmp_path / "warehouse"))
    table = writer.create()
    deletes = equality_deletes(table.metadata, [1])
    pq.write_table(pa.table({"id": [1]}, schema=pa.schema([field])), to_local_path(deletes.file_path))
    table = writer.append(1, 2, base=table).table
    action = RowDelta(data_files=[], delete_files=[deletes], base_snapshot_id=table.metadata.current_snapshot_id)
    with suppress(SqlextError):
        table = writer.commit(action, base=table).table
        rows_of(table)
    assert not fuse.exists()
