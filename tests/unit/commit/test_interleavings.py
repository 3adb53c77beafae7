"""Random statements begun on one version of a table: those that land leave the rows of some serial order of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import permutations
from pathlib import Path

import pytest
from pyroaring import BitMap64

from small_tables import (
    Writer,
    data_file,
    equality_deletes,
    position_deletes,
    rows_of,
    stored_rows,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.errors import ValidationConflict
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.scan_plan import plan_scan
from sqlext.spec.expression import AlwaysTrue, In
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.storage.file_io import LocalFileIO

SEED = 20261121
CASES = 60
KINDS = ("append", "delete", "update", "merge", "merge", "upsert", "copy")

Rows = Counter[tuple[int, str]]


class Statement:
    """A change of the rows of some ids; `mark` tells its values from those of others."""

    def __init__(self, kind: str, ids: frozenset[int], mark: str) -> None:
        self.kind, self.ids, self.mark = kind, ids, mark

    def __repr__(self) -> str:
        return f"{self.kind} {sorted(self.ids)} {self.mark}"

    def apply(self, rows: Rows) -> Rows:
        hit = Counter({row: count for row, count in rows.items() if row[0] in self.ids})
        added: Rows = Counter()
        if self.kind in ("update", "copy", "merge"):
            added = Counter({(id, text + self.mark): count for (id, text), count in hit.items()})
        if self.kind == "merge":
            added += Counter({(id, self.mark): 1 for id in self.ids - {id for id, _ in hit}})
        if self.kind in ("append", "upsert"):
            added = Counter({(id, self.mark): 1 for id in self.ids})
        return rows - (Counter() if self.kind == "append" else hit) + added

    def plan(self, table: LoadedTable) -> Action:
        """The commit of the statement as it reads the table."""
        metadata, since = table.metadata, table.metadata.current_snapshot_id
        files, deleted = ({}, {}) if self.kind == "append" else self._hit(table)
        before: Rows = Counter()
        for path, positions in deleted.items():
            stored = stored_rows(files[path])
            before.update((stored[at]["id"], stored[at]["region"]) for at in positions)
        new = [data_file(metadata, [id], text) for id, text in (self.apply(before) - Counter()).elements()]
        if self.kind == "append":
            return AppendFiles(new)
        if self.kind == "upsert":
            return RowDelta(new, (equality_deletes(metadata, sorted(self.ids)),), base_snapshot_id=since)
        read = In(1, self.ids)
        if self.kind == "copy":
            kept = self._kept(table, deleted)
            copies = [data_file(metadata, [id], text) for id, text in kept.elements()]
            replaced = [files[path] for path in deleted]
            return OverwriteFiles([*new, *copies], deleted_files=replaced, base_snapshot_id=since, read_filter=read)
        in_files = [position_deletes(metadata, files[path], list(at)) for path, at in deleted.items()]
        return RowDelta(
            new,
            in_files if metadata.format_version == 2 else (),
            frozenset(deleted),
            base_snapshot_id=since,
            read_filter=None if self.kind == "merge" else read,
            unique_key=(1,) if self.kind == "merge" else (),
            deleted_rows={path: DeletedRows(0, (), at) for path, at in deleted.items()},
        )

    def _hit(self, table: LoadedTable) -> tuple[dict[str, ContentFile], dict[str, BitMap64]]:
        """The live rows with the ids, by data file."""
        return _live(table, lambda id: id in self.ids)

    def _kept(self, table: LoadedTable, deleted: Mapping[str, BitMap64]) -> Rows:
        files, others = _live(table, lambda id: id not in self.ids)
        kept: Rows = Counter()
        for path in others.keys() & deleted.keys():
            stored = stored_rows(files[path])
            kept.update((stored[at]["id"], stored[at]["region"]) for at in others[path])
        return kept


def _live(table: LoadedTable, wanted: Callable[[int], bool]) -> tuple[dict[str, ContentFile], dict[str, BitMap64]]:
    snapshot = table.metadata.current_snapshot()
    plan = plan_scan(LocalFileIO(), table.metadata, snapshot, AlwaysTrue(), manifests=ManifestCache())
    files, chosen = {}, {}
    for task in plan.tasks:
        gone = BitMap64() if task.position_deletes is None else BitMap64.deserialize(task.position_deletes)
        found = BitMap64(at for at, row in enumerate(stored_rows(task.file)) if at not in gone and wanted(row["id"]))
        files[task.file.file_path] = task.file
        if found:
            chosen[task.file.file_path] = found
    return files, chosen


def _rows(table: LoadedTable) -> Rows:
    return Counter((row["id"], row["region"]) for row in rows_of(table))


def _after(rows: Rows, statements: tuple[Statement, ...]) -> Rows:
    for statement in statements:
        rows = statement.apply(rows)
    return +rows


def test_what_lands_has_a_serial_order(tmp_path: Path) -> None:
    landed = refused = 0
    for number in range(CASES):
        rng = random.Random(f"{SEED}/{number}")
        writer = Writer(warehouse_catalog(tmp_path / str(number)), seed=number)
        writer.create(format_version=rng.choice((2, 3)))
        writer.append(*range(6))
        base = writer.append(*range(6, 9)).table
        kinds = [
            rng.choice(("append", "delete", "update", "merge", "upsert", "copy")) for _ in range(rng.choice((2, 3)))
        ]
        statements = [
            Statement(kind, frozenset(rng.sample((5, 6, 9), rng.choice((1, 2)))), mark)
            for kind, mark in zip(kinds, "xyz", strict=False)
        ]
        before = _rows(base)
        done: list[Statement] = []
        for statement, action in [(one, one.plan(base)) for one in statements]:
            try:
                writer.commit(action, base=base)
                done.append(statement)
            except ValidationConflict:
                refused += 1
        landed += len(done)
        serial = [_after(before, order) for order in permutations(done)]
        if _rows(writer.load()) not in serial:
            pytest.fail(f"case {number} of seed {SEED}: {statements} landed as {done}: {_rows(writer.load())}")
    assert landed > CASES
    assert refused > CASES // 10
