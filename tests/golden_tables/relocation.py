"""Golden tables moved to another folder: every absolute path in them is rewritten.

Paths stand in metadata files, manifest lists, manifests, position deletes (Parquet and Avro) and Puffin footers. Sizes
of rewritten files are corrected where the metadata states them.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

FILE_PATH_ID = 2147483546
_PUFFIN_MAGIC = b"PFA1"
_FOOTER_TAIL = 12  # payload size, flags, magic
_SYNC_MARKER = b"a golden table's"
_HIGHEST_STRING = "\U0010ffff".encode() * 4


def unpack(archive: Path, target_dir: Path, *, known_as: str | None = None) -> Path:
    """Unpacks a golden set and relocates it to `target_dir`, which is returned. See `relocate`."""
    with TemporaryDirectory() as scratch, zipfile.ZipFile(archive) as packed:
        packed.extractall(scratch)
        (source,) = (path.parent for path in Path(scratch).glob("*/index.json"))
        relocate(source, target_dir, known_as=known_as)
    return target_dir


def relocate(source_dir: Path | str, target_dir: Path | str, *, known_as: str | None = None) -> None:
    """Copies an unpacked golden set (with `index.json`) to `target_dir` and makes its paths point there.

    With `known_as`, they point to that folder instead, of which the reader knows where it is: the same bytes wherever
    the set is unpacked.
    """
    source, target = Path(source_dir).resolve(), Path(target_dir).resolve()
    prefix = json.loads((source / "index.json").read_text())["prefix"]
    shutil.copytree(source, target, dirs_exist_ok=True)
    _Relocation(prefix, known_as or str(target)).run(target)


class _Relocation:
    def __init__(self, old: str, new: str) -> None:
        self._old = old
        self._new = new
        self._folder = Path()
        self._sizes: dict[str, int] = {}

    def run(self, folder: Path) -> None:
        """Files before those that state their size: deletes, then manifests, then lists."""
        self._folder = folder
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        manifests, lists = [], []
        for path in files:
            if path.read_bytes().startswith(_PUFFIN_MAGIC):  # Flink names them .parquet
                self._puffin(path)
            elif path.suffix == ".parquet":
                self._parquet_deletes(path)
            elif path.suffix == ".avro":
                names = _avro_columns(path)
                if "manifest_path" in names:
                    lists.append(path)
                elif "data_file" in names:
                    manifests.append(path)
                elif names[:2] == ["file_path", "pos"]:
                    self._avro(path, lambda row: {**row, "file_path": self._moved(row["file_path"])})
            elif "metadata.json" in path.name or path.name in ("index.json", "expected.json"):
                self._json(path)
        for path in manifests:
            self._avro(path, self._entry)
        for path in lists:
            self._avro(path, self._manifest)

    def _moved(self, text: str) -> str:
        return text.replace(self._old, self._new)

    def _size(self, location: str, stated: int) -> int:
        return self._sizes.get(location.removeprefix("file://").removeprefix("file:"), stated)

    def _write(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)
        self._sizes[self._named(path)] = len(data)

    def _named(self, path: Path) -> str:
        return f"{self._new}/{path.relative_to(self._folder)}"

    def _avro(self, path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        with path.open("rb") as source:
            reader = fastavro.reader(source)
            schema = json.loads(reader.metadata["avro.schema"])
            metadata = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
            records = [change(record) for record in reader]  # type: ignore[arg-type]
            codec = reader.codec
        out = io.BytesIO()
        fastavro.writer(
            out, fastavro.parse_schema(schema), records, codec=codec, metadata=metadata, sync_marker=_SYNC_MARKER
        )
        self._write(path, out.getvalue())

    def _entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        file = entry["data_file"]
        file["file_path"] = self._moved(file["file_path"])
        if file.get("referenced_data_file"):
            file["referenced_data_file"] = self._moved(file["referenced_data_file"])
        if file.get("content") == 1:
            for name, widest in (("lower_bounds", b""), ("upper_bounds", _HIGHEST_STRING)):
                for bound in file.get(name) or []:
                    if bound["key"] == FILE_PATH_ID:
                        bound["value"] = self._moved_bound(bytes(bound["value"]), widest)
        file["file_size_in_bytes"] = self._size(file["file_path"], file["file_size_in_bytes"])
        return entry

    def _moved_bound(self, bound: bytes, widest: bytes) -> bytes:
        """A bound that was cut inside the prefix cannot be moved: it is widened."""
        old = self._old.encode()
        return bound.replace(old, self._new.encode()) if old in bound else widest

    def _manifest(self, manifest: dict[str, Any]) -> dict[str, Any]:
        manifest["manifest_path"] = self._moved(manifest["manifest_path"])
        manifest["manifest_length"] = self._size(manifest["manifest_path"], manifest["manifest_length"])
        return manifest

    def _parquet_deletes(self, path: Path) -> None:
        schema = pq.read_schema(path)
        if schema.names[:2] != ["file_path", "pos"]:
            return
        if (schema.field(0).metadata or {}).get(b"PARQUET:field_id") != str(FILE_PATH_ID).encode():
            return
        table = pq.read_table(path)
        paths = pa.array([self._moved(one) for one in table.column(0).to_pylist()], pa.string())
        pq.write_table(table.set_column(0, table.schema.field(0), paths), path, compression="zstd", store_schema=False)
        self._sizes[self._named(path)] = path.stat().st_size

    def _puffin(self, path: Path) -> None:
        data = path.read_bytes()
        (size,) = struct.unpack("<i", data[-_FOOTER_TAIL : -_FOOTER_TAIL + 4])
        flags = data[-8:-4]
        if flags[0] & 1:
            raise ValueError(f"{path} has a compressed Puffin footer")
        footer = json.loads(data[-_FOOTER_TAIL - size : -_FOOTER_TAIL])
        moved = self._moved(json.dumps(footer, separators=(",", ":"))).encode()
        tail = struct.pack("<i", len(moved)) + flags + data[-4:]
        self._write(path, data[: -_FOOTER_TAIL - size] + moved + tail)

    def _json(self, path: Path) -> None:
        data = path.read_bytes()
        packed = data.startswith(b"\x1f\x8b")
        obj = json.loads(self._moved((gzip.decompress(data) if packed else data).decode()))
        for name in ("statistics", "partition-statistics"):
            for statistics in obj.get(name) or []:
                stated = statistics["file-size-in-bytes"]
                statistics["file-size-in-bytes"] = self._size(statistics["statistics-path"], stated)
        text = json.dumps(obj, ensure_ascii=False, indent=None if packed else 1).encode()
        path.write_bytes(gzip.compress(text, mtime=0) if packed else text)


def _avro_columns(path: Path) -> list[str]:
    with path.open("rb") as source:
        schema = json.loads(fastavro.reader(source).metadata["avro.schema"])
    return [field["name"] for field in schema["fields"]]
