"""Entries as columns against entries one by one: decoding, inheritance, and pruning.

`SQLEXT_TEST_SEED` replays a run, `SQLEXT_TEST_CASES` makes it longer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from sqlext.scan.filter.file_filter import FileFilter
from sqlext.spec.avro.avro_columns import NotColumnar
from sqlext.spec.expression import Comparison, In, IsNull, Not, NotIn, Predicate
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import (
    EntryStatus,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    decode_manifest,
    encode_manifest,
    summarise_partitions,
)
from sqlext.spec.manifests.manifest_codec import METRICS
from sqlext.spec.manifests.manifest_columns import ManifestColumns, decode_manifest_columns
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.single_value import encode
from sqlext.spec.transform import parse_transform
from sqlext.spec.types import (
    DecimalType,
    DoubleType,
    FixedType,
    IntegerType,
    LongType,
    NestedField,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UuidType,
)
from unit.scan.random_rows import COLUMNS, SCHEMA, data_file, evaluate, falsified, random_predicate, random_rows

SEED = int(os.environ.get("SQLEXT_TEST_SEED", "20261121"))
CASES = int(os.environ.get("SQLEXT_TEST_CASES", "1500"))
FILES = 8
TRANSFORMS = ("identity", "bucket[4]", "truncate[3]", "year", "month", "day", "hour", "void")


def random_spec(random: Random, spec_id: int) -> PartitionSpec:
    fields: list[PartitionField] = []
    for _ in range(random.randint(0, 2)):
        source, transform = random.choice(COLUMNS), parse_transform(random.choice(TRANSFORMS))
        if transform.can_transform(source.type):
            fields.append(PartitionField(source.id, 1000 + len(fields), f"p{len(fields)}", transform))
    return PartitionSpec(spec_id, tuple(fields))


def random_files(random: Random, spec: PartitionSpec) -> tuple[list[ContentFile], list[list[dict[int, Any]]]]:
    """Files of one manifest and the rows of each."""
    files, rows_of = [], []
    while len(files) < FILES:
        for rows in _by_partition(random_rows(random), spec).values():
            partition = _partition(rows[0], spec)
            made = data_file(random, rows, spec.spec_id, partition)
            if random.random() < 0.5:
                made = falsified(random, made, rows)
            files.append(replace(made, file_path=f"f{'x' * random.randint(0, 3)}"))
            rows_of.append(rows)
    return files, rows_of


def _partition(row: dict[int, Any], spec: PartitionSpec) -> tuple[Any, ...]:
    return tuple(f.transform.apply(SCHEMA.field(f.source_id).type, row[f.source_id]) for f in spec.fields)


def _by_partition(rows: list[dict[int, Any]], spec: PartitionSpec) -> dict[str, list[dict[int, Any]]]:
    grouped: dict[str, list[dict[int, Any]]] = {}
    for row in rows:
        grouped.setdefault(repr(_partition(row, spec)), []).append(row)
    return grouped


def random_entry(random: Random, file: ContentFile) -> ManifestEntry:
    status = random.choice((EntryStatus.ADDED, EntryStatus.ADDED, EntryStatus.EXISTING, EntryStatus.DELETED))
    number = None if status == EntryStatus.ADDED and random.random() < 0.5 else random.randint(1, 5)
    return ManifestEntry(status, random.choice((None, 7)), number, random.choice((number, None)), file)


def listed(size: int, **changes: Any) -> ManifestFile:
    made = ManifestFile("m.avro", size, 1, ManifestContent.DATA, 9, 1, 3, FILES, 0, 0, 9, 0, 0)
    return replace(made, **changes)


def plain(entries: list[ManifestEntry]) -> list[str]:
    """Entries as text, in which NaN is equal to itself; the order of metrics does not matter."""
    return [
        repr(replace(entry, file=replace(entry.file, **{n: _sorted(getattr(entry.file, n)) for n in METRICS})))
        for entry in entries
    ]


def _sorted(metric: Any) -> Any:
    return None if metric is None else dict(sorted(metric.items()))


@dataclass(frozen=True, slots=True)
class Manifest:
    """One manifest of a table of several specs: as it is listed, its entries by both ways, the rows of each file."""

    listed: ManifestFile
    columns: ManifestColumns
    entries: list[ManifestEntry]
    rows_of: list[list[dict[int, Any]]]


def random_manifest(random: Random, specs: dict[int, PartitionSpec], spec: PartitionSpec, clue: str) -> Manifest:
    version = random.choice((1, 2, 3))
    files, rows_of = random_files(random, spec)
    entries = [random_entry(random, file) for file in files]
    data = encode_manifest(
        entries, schema=SCHEMA, spec=spec, content=ManifestContent.DATA, format_version=version,
        codec=random.choice(("deflate", "null", "snappy", "zstd")),
    )  # fmt: skip
    summaries = summarise_partitions([one.file.partition for one in entries], spec, SCHEMA)
    row_id = random.choice((None, 100))
    manifest = listed(len(data), spec_id=spec.spec_id, first_row_id=row_id, partitions=summaries)
    if version == 1:
        manifest = replace(manifest, sequence_number=0)
    expected = decode_manifest(data, manifest, schema=SCHEMA, specs=specs)
    (columns,) = decode_manifest_columns(data, manifest, schema=SCHEMA, specs=specs)
    assert plain(columns.entries()) == plain(expected), clue
    some = sorted(random.sample(range(len(files)), 5))
    assert plain(columns.entries(some)) == plain([expected[row] for row in some]), clue
    bare = [replace(one, file=replace(one.file, **dict.fromkeys(METRICS))) for one in expected]
    assert plain(columns.entries(with_metrics=False)) == plain(bare), clue
    return Manifest(manifest, columns, expected, rows_of)


def test_columns_hold_and_prune_what_entries_do(capsys: pytest.CaptureFixture[str]) -> None:
    """Tables of two specs: the answer to each predicate is that of each entry alone, and no manifest or file that is
    left out holds a row that satisfies it."""
    pruned = kept = skipped = cases = 0
    for turn in range(CASES // 25):
        random = Random(f"{SEED}-{turn}")
        clue = f"SQLEXT_TEST_SEED={SEED} turn {turn}"
        specs = {number: random_spec(random, number) for number in (1, 2)}
        manifests = [random_manifest(random, specs, spec, clue) for spec in specs.values()]
        rows_of_all = [rows for manifest in manifests for rows in manifest.rows_of]
        for case in range(25):
            predicate = random_predicate(random, random.choice(rows_of_all))
            of_case = f"{clue} case {case}: {predicate}"
            filter = FileFilter(predicate, schema=SCHEMA, specs=specs)
            cases += 1
            for manifest in manifests:
                found = filter.files_may_match(manifest.columns)
                alone = [entry.is_live and filter.file_may_match(entry.file) for entry in manifest.entries]
                assert found.tolist() == alone, of_case
                answered = np.asarray([filter.file_must_match(entry.file) for entry in manifest.entries])
                assert filter.files_must_match(manifest.columns, answered), of_case
                one = np.arange(len(answered)) == random.randrange(len(answered))
                assert filter.files_must_match(manifest.columns, one) == answered[one][0], of_case
                if not filter.manifest_may_match(manifest.listed):
                    skipped += 1
                    found[:] = False
                for row, entry in enumerate(manifest.entries):
                    if not found[row] and entry.is_live:
                        pruned += 1
                        assert not any(evaluate(predicate, one) for one in manifest.rows_of[row]), of_case
                kept += int(found.sum())
    assert pruned > kept / 4
    assert skipped > cases / 50
    with capsys.disabled():
        print(f"\npruning: {cases} cases of seed {SEED}; of their files {pruned} left out, {kept} kept")


OTHER_TYPES: dict[int, tuple[Any, Callable[[Random], Any]]] = {
    1: (UuidType(), lambda random: UUID(int=random.choice((0, 2**127, 2**128 - 1, random.getrandbits(128))))),
    2: (FixedType(3), lambda random: bytes(random.choices((0, 0x7F, 0x80, 0xFF), k=3))),
    3: (TimestamptzType(), lambda random: random.randint(-3, 3)),
    4: (TimeType(), lambda random: random.randint(0, 5)),
    6: (TimestampNanoType(), lambda random: random.choice((-(2**63), random.randint(-3, 3), 2**63 - 1))),
    7: (TimestamptzNanoType(), lambda random: random.randint(-3, 3)),
    5: (
        DecimalType(38, 0),
        lambda random: random.choice((-1, 1)) * random.getrandbits(random.choice((3, 7, 8, 64, 120))),
    ),
}


def test_other_types_prune_as_each_entry_does() -> None:
    schema = Schema(tuple(NestedField(key, f"c{key}", of) for key, (of, _) in OTHER_TYPES.items()))
    random = Random(SEED)
    pruned = 0
    for turn in range(40):
        entries = []
        for _ in range(2 * FILES):
            lower, upper = {}, {}
            for key, (of, make) in OTHER_TYPES.items():
                low, high = sorted((make(random), make(random)))
                lower[key], upper[key] = encode(of, _stored(of, low)), encode(of, _stored(of, high))
            file = ContentFile(
                Content.DATA, "f", "PARQUET", 0, (), 5, 1, None, dict.fromkeys(lower, 5),
                {key: random.choice((0, 5, 2)) for key in lower}, None, lower, upper,
            )  # fmt: skip
            entries.append(ManifestEntry(EntryStatus.ADDED, 1, 1, 1, file))
        columns = decoded(entries, schema)
        for key, (of, make) in OTHER_TYPES.items():
            literal = _stored(of, make(random))
            terms: list[Predicate] = [Comparison(op, key, literal) for op in ("<", "<=", ">", ">=", "=", "!=")]  # type: ignore[arg-type]
            terms += [In(key, frozenset({literal})), NotIn(key, frozenset({literal})), IsNull(key)]
            for term in (*terms, *map(Not, terms)):
                filter = FileFilter(term, schema=schema, specs={0: UNPARTITIONED})
                found = filter.files_may_match(columns).tolist()
                assert found == [filter.file_may_match(entry.file) for entry in entries], f"{SEED} {turn}: {term}"
                pruned += found.count(False)
    assert pruned > 300


def _stored(of: Any, value: Any) -> Any:
    return Decimal(value) if isinstance(of, DecimalType) else value


def decoded(entries: list[ManifestEntry], schema: Schema, content: ManifestContent = ManifestContent.DATA) -> Any:
    data = encode_manifest(entries, schema=schema, spec=UNPARTITIONED, content=content, format_version=2)
    manifest = listed(len(data), spec_id=0, content=content)
    (columns,) = decode_manifest_columns(data, manifest, schema=schema, specs={0: UNPARTITIONED})
    return columns


@pytest.mark.parametrize(
    ("of", "bounds", "predicate", "kept"),
    [
        (LongType(), [(4, 1), (8, 2), (4, 9)], Comparison("<", 1, 5), [True, True, False]),
        (LongType(), [(4, 1), (4, 2), (4, 9)], Comparison("<", 1, 2), [True, False, False]),
        (TimestampType(), [(4, 0), (4, 1), (4, 2)], Comparison("<", 1, 86_400_000_000), [True, False, False]),
    ],
)
def test_bounds_written_before_a_column_was_widened(
    of: Any, bounds: list[tuple[int, int]], predicate: Predicate, kept: list[bool]
) -> None:
    schema = Schema((NestedField(1, "c", of),))
    entries = [
        ManifestEntry(
            EntryStatus.ADDED, 1, 1, 1,
            ContentFile(
                Content.DATA, "f", "PARQUET", 0, (), 5, 1,
                lower_bounds={1: value.to_bytes(width, "little")}, upper_bounds={1: value.to_bytes(width, "little")},
            ),
        )
        for width, value in bounds
    ]  # fmt: skip
    filter = FileFilter(predicate, schema=schema, specs={0: UNPARTITIONED})
    assert filter.files_may_match(decoded(entries, schema)).tolist() == kept


def test_equality_deletes_are_pruned_by_their_keys_only() -> None:
    schema = Schema((NestedField(1, "id", IntegerType()), NestedField(2, "v", DoubleType())))
    bound = {1: (5).to_bytes(4, "little"), 2: encode(DoubleType(), 1.0)}
    counts = {"value_counts": {1: 1, 2: 1}, "null_value_counts": {1: 0, 2: 0}, "nan_value_counts": {2: 0}}
    entries = [
        ManifestEntry(
            EntryStatus.ADDED, 1, 1, 1,
            ContentFile(
                Content.EQUALITY_DELETES, "d", "PARQUET", 0, (), 1, 1, equality_ids=ids,
                lower_bounds=bound, upper_bounds=bound, **counts,
            ),
        )
        for ids in ((1,), (2,), (1, 2))
    ]  # fmt: skip
    columns = decoded(entries, schema, ManifestContent.DELETES)
    for predicate in (Comparison("=", 1, 6), Comparison("=", 2, 9.0), Comparison("=", 1, 5)):
        filter = FileFilter(predicate, schema=schema, specs={0: UNPARTITIONED})
        assert filter.files_may_match(columns).tolist() == [filter.file_may_match(e.file) for e in entries]
    assert columns.entries()[2].file.equality_ids == (1, 2)


@pytest.mark.parametrize("paths", [("a",), ("a", "b"), ("a", "longer")])
def test_files_are_found_by_paths_that_they_share(paths: tuple[str, ...]) -> None:
    """As the deletion vectors of one commit do."""
    file = replace(data_file(Random(0), random_rows(Random(0))), content=Content.POSITION_DELETES)
    held = [paths[number % len(paths)] for number in range(60)]
    entries = [ManifestEntry(EntryStatus.ADDED, 1, 1, 1, replace(file, file_path=path)) for path in held]
    data = encode_manifest(
        entries, schema=SCHEMA, spec=UNPARTITIONED, content=ManifestContent.DELETES, format_version=3
    )
    manifest = listed(len(data), spec_id=0, content=ManifestContent.DELETES)
    (columns,) = decode_manifest_columns(data, manifest, schema=SCHEMA, specs={0: UNPARTITIONED})
    for wanted in (frozenset[str](), frozenset({"a"}), frozenset({"b", "c"}), frozenset({"longer", "a"})):
        assert columns.is_at(wanted).tolist() == [path in wanted for path in held]


def test_a_path_that_holds_the_word_which_tells_records_apart() -> None:
    file = data_file(Random(0), random_rows(Random(0)))
    entries = [
        ManifestEntry(EntryStatus.ADDED, 1, 1, 1, replace(file, file_path=path)) for path in ("a", "\x0ePARQUET", "b")
    ]
    data = encode_manifest(entries, schema=SCHEMA, spec=UNPARTITIONED, content=ManifestContent.DATA, format_version=2)
    with pytest.raises(NotColumnar):
        decode_manifest_columns(data, listed(len(data), spec_id=0), schema=SCHEMA, specs={0: UNPARTITIONED})


def test_damaged_manifests_are_never_taken_for_others() -> None:
    """Whatever bit is wrong: the columns are those that records read one by one have, or there are none."""
    random = Random(SEED)
    file = data_file(random, random_rows(random))
    entries = [ManifestEntry(EntryStatus.ADDED, 1, 1, 1, replace(file, file_path=f"f{n}")) for n in range(60)]
    data = encode_manifest(
        entries, schema=SCHEMA, spec=UNPARTITIONED, content=ManifestContent.DATA, format_version=2, codec="null"
    )
    manifest, refused = listed(len(data), spec_id=0), 0
    for turn in range(150):
        place = random.randrange(data.index(b"f0"), len(data))
        damaged = data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]
        try:
            parts = decode_manifest_columns(damaged, manifest, schema=SCHEMA, specs={0: UNPARTITIONED})
        except NotColumnar:
            refused += 1
            continue
        expected = decode_manifest(damaged, manifest, schema=SCHEMA, specs={0: UNPARTITIONED})
        assert plain([entry for part in parts for entry in part.entries()]) == plain(expected), f"{SEED} {turn}"
    assert 10 < refused < 150
