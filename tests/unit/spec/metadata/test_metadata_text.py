"""Metadata that are decoded and encoded with the text of another file are what they would be without it."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sqlext.errors import SqlextError
from sqlext.spec.metadata.metadata_text import (
    MetadataText,
    decode_answer_with_text,
    decode_with_text,
    encode_with_text,
)
from sqlext.spec.metadata.metadata_update import (
    AddSchema,
    AddSnapshot,
    MetadataUpdate,
    RemoveProperties,
    RemoveSnapshotRef,
    RemoveSnapshots,
    SetCurrentSchema,
    SetProperties,
    SetSnapshotRef,
    UpgradeFormatVersion,
    apply_updates,
    with_metadata_log,
)
from sqlext.spec.metadata.reference import SnapshotReference
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import (
    TableMetadata,
    decode_table_metadata,
    encode_table_metadata,
    new_table_metadata,
)
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.types import LongType, NestedField
from unit.spec import iceberg_tables

SCHEMA = Schema((NestedField(1, "id", LongType()),), 0)
TEXTS = ("", "x", "ü", "日本", "😀", '"snapshots":[{"a":1}]', 'a"b\\', "\n\t", "NaN")


class Process:
    """One reader and writer of the table, with what it knows of files' text."""

    def __init__(self) -> None:
        self.read = self.encoded = MetadataText()

    def decode(self, data: bytes) -> TableMetadata:
        metadata, self.read = decode_with_text(data, "m", (self.read, self.encoded))
        plain = decode_table_metadata(data, "m")
        assert metadata == plain
        assert metadata.unknown == plain.unknown
        # Equal values of Python may differ in JSON, as 1 and true.
        assert encode_table_metadata(metadata) == encode_table_metadata(plain)
        return metadata

    def encode(self, metadata: TableMetadata) -> bytes:
        made = encode_with_text(metadata, self.encoded)
        self.encoded = made.text
        plain = encode_table_metadata(metadata)
        assert made.plain() == plain
        assert gzip.decompress(made.gzipped()) == plain[: plain.rindex(b',"sqlext-checksum"')] + b"}"
        return made.gzipped() if metadata.properties.get("gzip") else plain


def new(version: int) -> TableMetadata:
    uuid = "f46e96fd-7174-44e9-9c48-e25b2eb790e0"
    return new_table_metadata(SCHEMA, UNPARTITIONED, UNSORTED, "file:///w/db/t", {}, version, uuid, 1000)


def snapshot(metadata: TableMetadata, rng: random.Random) -> Snapshot:
    version, current = metadata.format_version, metadata.current_snapshot()
    id = rng.getrandbits(62) + 1
    return Snapshot(
        snapshot_id=id,
        parent_snapshot_id=None if current is None else current.snapshot_id,
        sequence_number=0 if version == 1 else metadata.last_sequence_number + 1,
        timestamp_ms=metadata.last_updated_ms + rng.randrange(3),
        manifest_list=f"file:///w/db/t/metadata/snap-{id}.avro",
        summary={} if rng.random() < 0.1 else {"operation": "append", "note": rng.choice(TEXTS)},
        schema_id=rng.choice([None, metadata.current_schema_id]),
        first_row_id=metadata.next_row_id,
        added_rows=None if version < 3 else rng.randrange(5),
        extra={"later": rng.choice([1, True, 1.5, None, [{"snapshots": []}]])} if rng.random() < 0.2 else {},
    )


def updates(metadata: TableMetadata, rng: random.Random) -> tuple[MetadataUpdate, ...]:
    """One commit: mostly snapshots, sometimes anything else."""
    kind = rng.random()
    if kind < 0.7 or not metadata.snapshots:
        made = snapshot(metadata, rng)
        branch = rng.choice(["main", "main", "main", "b"])
        return (AddSnapshot(made), SetSnapshotRef(branch, SnapshotReference(made.snapshot_id)))
    some = rng.choice(metadata.snapshots).snapshot_id
    if kind < 0.75:
        kept = {ref.snapshot_id for ref in metadata.refs.values()}
        count = rng.randrange(len(metadata.snapshots)) + 1
        oldest = [one.snapshot_id for one in metadata.snapshots[:count]]
        return (RemoveSnapshots(tuple(id for id in rng.choice([oldest, [some]]) if id not in kept)),)
    if kind < 0.8:
        return (SetSnapshotRef("main", SnapshotReference(some)),)
    if kind < 0.83:
        return (RemoveSnapshotRef(rng.choice(["main", "b"])),)
    if kind < 0.88:
        return (UpgradeFormatVersion(rng.randrange(metadata.format_version, 4)),)
    if kind < 0.92:
        highest = max(one.schema_id for one in metadata.schemas)
        return (AddSchema(replace(metadata.schema(), schema_id=highest + 1)), SetCurrentSchema())
    if kind < 0.96:
        return (SetProperties({"gzip": "1"}), SetProperties({"p": rng.choice(TEXTS)}))
    return (RemoveProperties(("gzip",)),)


def as_other_engines_write(data: bytes, rng: random.Random) -> bytes:
    """The same metadata as other JSON, perhaps with fields that sqlext does not know."""
    obj = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    if rng.random() < 0.3:
        obj["snapshot-log"] = [{**entry, "x-log": 1} for entry in obj["snapshot-log"]]
    if rng.random() < 0.3:
        obj["schemas"][-1]["fields"][0]["x-field"] = {"snapshots": [{"a": 1}]}
    if rng.random() < 0.2:
        items = list(obj.items())
        rng.shuffle(items)
        obj = dict(items)
    return json.dumps(obj, indent=rng.choice([None, 2]), ensure_ascii=rng.random() < 0.5).encode()


@pytest.mark.parametrize("seed", range(60))
def test_any_history_is_decoded_and_encoded_as_without_text(seed: int) -> None:
    rng = random.Random(seed)
    processes = [Process() for _ in range(3)]
    files = [encode_table_metadata(new(rng.choice([1, 2, 3])))]
    foreign = rng.random() < 0.5
    for number in range(rng.randrange(10, 120)):
        process = rng.choice(processes)
        metadata = process.decode(files[-1])
        if rng.random() < 0.1:
            process.decode(rng.choice(files))
        if rng.random() < 0.2:
            # It loses its race, and is staged again on what the winner wrote.
            process.encode(apply_updates(metadata, updates(metadata, rng), now_ms=number))
            continue
        changed = apply_updates(metadata, updates(metadata, rng), now_ms=number)
        changed = with_metadata_log(changed, f"file:///w/db/t/metadata/v{number}.metadata.json", 1000, 10)
        data = process.encode(changed)
        files.append(as_other_engines_write(data, rng) if foreign and rng.random() < 0.3 else data)


def test_files_of_other_tables_are_decoded_as_without_text() -> None:
    process = Process()
    files = [data for _, data in iceberg_tables.metadata_files()]
    random.Random(1).shuffle(files)
    for data in files:
        process.encode(process.decode(data))


def swapped(data: bytes, rng: random.Random) -> bytes:
    at, other = sorted(rng.randrange(len(data)) for _ in range(2))
    return data[:at] + data[other:] + data[at:other]


def inserted(data: bytes, rng: random.Random) -> bytes:
    at = rng.choice([rng.randrange(len(data)), data.index(b'"snapshots"'), data.index(b'"snapshot-log"')])
    text = rng.choice(
        [
            b'"snapshots":[],',
            b'"snapshots":[NaN],',
            b'"x":{"snapshots":[{"snapshot-id":1}]},',
            b'"snapshot-log":null,',
            b'\\"snapshots":[',
            b"NaN",
            b" ",
            b",",
            b'"x":NaN,',
            b"\xff",
        ]
    )
    return data[:at] + text + data[at:]


def replaced(data: bytes, rng: random.Random) -> bytes:
    old, new = rng.choice(
        [
            (b'"snapshots":[', b'"snapshots": [ '),
            (b'"snapshots":[', b'"snapshots":[1,'),
            (b'"snapshots":[', b'"x":{"snapshots":['),
            (b'"snapshots":', b'"y":'),
            (b"}]", b"},NaN]"),
            (b"}]", b"} , 5]"),
            (b"}]", b"},]"),
            (b"},{", b"} ,{"),
            (b'"timestamp-ms":', b'"timestamp-ms":1'),
            (b'"snapshot-id":', b'"snapshot-id":true,"x":'),
        ]
    )
    return data.replace(old, new, rng.choice([-1, 1, 2]))


def changed_byte(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.choice(b'{}[],":\\1aN')]) + data[at + 1 :]


def cut(data: bytes, rng: random.Random) -> bytes:
    at, other = sorted(rng.randrange(len(data)) for _ in range(2))
    return data[:at] + data[other:]


def result(decode: Callable[[], TableMetadata]) -> Any:
    """The metadata as JSON, or the error."""
    try:
        return encode_table_metadata(decode())
    except SqlextError as error:
        return error.condition, error.parameters


@pytest.mark.parametrize("seed", range(40))
def test_changed_bytes_are_decoded_as_without_text(seed: int) -> None:
    rng = random.Random(seed)
    process, metadata = Process(), new(rng.choice([1, 2, 3]))
    for number in range(rng.randrange(4, 30)):
        made = snapshot(metadata, rng)
        metadata = apply_updates(
            metadata, (AddSnapshot(made), SetSnapshotRef("main", SnapshotReference(made.snapshot_id))), now_ms=number
        )
        data = process.encode(metadata)
        process.decode(data)
    for _ in range(60):
        other = data
        for change in rng.choices([swapped, inserted, replaced, changed_byte, cut], k=rng.choice([1, 1, 2])):
            other = change(other, rng) if b'"snapshots"' in other and b'"snapshot-log"' in other else other
        plain = result(lambda data=other: decode_table_metadata(data, "m"))  # type: ignore[misc]
        found = result(lambda data=other: decode_with_text(data, "m", (process.read, process.encoded))[0])  # type: ignore[misc]
        assert found == plain, other


@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_of_another_process_shares_the_snapshots_that_are_known(indent: int | None) -> None:
    rng, mine, other = random.Random(7), Process(), Process()
    metadata = new(2)
    files = []
    for number in range(70):
        made = snapshot(metadata, rng)
        metadata = apply_updates(
            metadata, (AddSnapshot(made), SetSnapshotRef("main", SnapshotReference(made.snapshot_id))), now_ms=number
        )
        data = other.encode(metadata)
        files.append(data if indent is None else json.dumps(json.loads(data), indent=indent).encode())
    before = mine.decode(files[-2])
    mine.encode(before)
    after = mine.decode(files[-1])
    assert all(one is known for one, known in zip(after.snapshots, before.snapshots, strict=False))
    assert all(one is known for one, known in zip(after.snapshot_log, before.snapshot_log, strict=False))
    first = mine.encoded.snapshots[0]
    mine.encode(after)
    assert mine.encoded.snapshots[0] is first
    assert [len(run.items) for run in mine.encoded.snapshots] == [69, 1]


@pytest.mark.parametrize("seed", range(10))
def test_the_answer_of_a_server_is_decoded_as_without_text(seed: int) -> None:
    rng, known = random.Random(seed), MetadataText()
    metadata = new(rng.choice([1, 2, 3]))
    for number in range(20):
        metadata = apply_updates(metadata, updates(metadata, rng), now_ms=number)
        obj = json.loads(encode_table_metadata(metadata))
        whole = {"metadata-location": "l", "metadata": obj, "config": {"snapshots": "x"}}
        content = json.dumps(whole, indent=rng.choice([None, 1])).encode()
        found = decode_answer_with_text(content, "db.t", (known,))
        assert found is not None
        answer, decoded, known = found
        assert decoded == metadata == decode_table_metadata(json.dumps(obj).encode(), "l")
        left = {name: value for name, value in obj.items() if name not in ("snapshots", "snapshot-log") or not value}
        assert answer == {**whole, "metadata": left}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        b"[]",
        b'{"metadata": []}',
        b'{"metadata": {}}',
        b'{"error": {"message": "snapshots"}}',
        b'{"config": {"snapshots": [{}]}, "metadata": {"format-version": 2}}',
    ],
)
def test_an_answer_without_metadata_is_none(content: bytes) -> None:
    assert decode_answer_with_text(content, "db.t", ()) is None


def test_text_of_another_format_version_is_not_written() -> None:
    process, metadata = Process(), new(1)
    made = snapshot(metadata, random.Random(1))
    metadata = apply_updates(
        metadata, (AddSnapshot(made), SetSnapshotRef("main", SnapshotReference(made.snapshot_id))), now_ms=1
    )
    assert b"sequence-number" not in process.encode(metadata).partition(b'"snapshots"')[2]
    upgraded = apply_updates(metadata, (UpgradeFormatVersion(2),), now_ms=2)
    assert b'"sequence-number":0' in process.encode(upgraded).partition(b'"snapshots"')[2]
