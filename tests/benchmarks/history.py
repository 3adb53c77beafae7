"""One-row INSERTs into tables that differ in the length of their history: what a commit costs after many others."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from benchmarks.bench import Bench, Result
from benchmarks.measure import Cost, middle

SNAPSHOTS = (10, 1_500, 5_000)
CODECS = ("none", "gzip")
# A commit that Iceberg's engines keep a hundred of.
_LOGGED_FILES = 100
_WARM_TURNS = 10


def history(bench: Bench) -> Iterator[Result]:
    """The tables in turns, so that a noisy minute hits all of them."""
    codecs = bench.chosen({codec: {} for codec in CODECS})
    tables = {(count, codec): f"history_{count}_{codec}" for codec in codecs for count in SNAPSHOTS}
    for (count, codec), name in tables.items():
        _make(bench, name, count, codec)
    costs: dict[tuple[int, str], list[Cost]] = {key: [] for key in tables}
    for turn in range(_WARM_TURNS + 8 * bench.repeats):
        for key, name in tables.items():
            costs[key].append(bench.cost(f"INSERT INTO {bench.table(name)} VALUES ({turn}, 'x')"))
    for key, name in tables.items():
        count, codec = key
        check = bench.answer(f"SELECT count(*), sum(id) FROM {bench.table(name)}")
        yield Result(
            "history", f"{count:,} snapshots", bench.system.name, codec, middle(costs[key][_WARM_TURNS:]), check
        )
        bench.spark.sql(f"DROP TABLE {bench.table(name)}")


def _make(bench: Bench, name: str, count: int, codec: str) -> None:
    table = bench.table(name)
    bench.spark.sql(f"DROP TABLE IF EXISTS {table}")
    properties = {"write.metadata.compression-codec": codec}
    bench.spark.sql(bench.system.create_table(name, "id bigint, name string", properties))
    for number in range(3):
        bench.spark.sql(f"INSERT INTO {table} VALUES ({number}, 'x')")
    newest = bench.answer(f"SELECT file FROM {table}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1")[0][0]
    _lengthen(Path(urlparse(newest).path), count)
    bench.spark.sql(f"REFRESH TABLE {table}")
    found = bench.answer(f"SELECT count(*) FROM {table}.snapshots")
    assert found == [[str(count)]], found


def _lengthen(newest: Path, count: int) -> None:
    """Writes the next version, with as many snapshots: copies of the newest one before those that there are."""
    data = newest.read_bytes()
    metadata: dict[str, Any] = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    snapshots, log = metadata["snapshots"], metadata["snapshot-log"]
    begun_ms, last = snapshots[0]["timestamp-ms"] - 1000 * count, snapshots[-1]
    for number in range(count - len(snapshots)):
        at_ms = begun_ms + 1000 * number
        id = last["snapshot-id"] ^ (number + 1)
        made = {**last, "snapshot-id": id, "timestamp-ms": at_ms, "sequence-number": 1}
        made["manifest-list"] = f"{last['manifest-list'].rpartition('/')[0]}/snap-{id}-1-{number:036d}.avro"
        made.pop("parent-snapshot-id")
        snapshots.insert(number, made)
        log.insert(number, {"timestamp-ms": at_ms, "snapshot-id": id})
    folder, version = newest.parent, int(newest.name.partition(".")[0].removeprefix("v"))
    metadata["metadata-log"] = [
        {"timestamp-ms": begun_ms + number, "metadata-file": str(folder / f"v0{number}.metadata.json")}
        for number in range(_LOGGED_FILES)
    ]
    text = json.dumps(metadata, separators=(",", ":")).encode()
    (folder / newest.name.replace(f"v{version}.", f"v{version + 1}.")).write_bytes(
        gzip.compress(text) if data[:2] == b"\x1f\x8b" else text
    )
    (folder / "version-hint.text").write_text(str(version + 1))
    # Hadoop's checksum is of the hint before.
    (folder / ".version-hint.text.crc").unlink(missing_ok=True)
