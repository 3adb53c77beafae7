"""A commit that ends before its first attempt is staged, as its table is gone by then: its files go, others' stay."""

from __future__ import annotations

import importlib
import pkgutil
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest

import sqlext.commit
from small_tables import ORDERS, SCHEMA, UNPARTITIONED, Writer, data_file, warehouse_catalog
from sqlext.commit.action import Action, CommitContext
from sqlext.commit.actions.add_files import AddFiles
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.batch_commit import CommitOnce
from sqlext.commit.actions.compaction import RewriteFiles
from sqlext.commit.actions.delete_file_rewrite import RewriteDeleteFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.overwrite_rows import OverwriteRows
from sqlext.commit.actions.recorded_action import RecordedAction
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.actions.schema_change import WriteWithSchema
from sqlext.commit.actions.stream_progress import AdvanceStream, StreamProgress
from sqlext.commit.actions.table_creation import CreateTable, MakeFoundTable, ReplaceTable
from sqlext.commit.actions.undo_commit import UndoOnce
from sqlext.commit.state.identity_change import GiveIdentities, RecordExamined
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.row_origins import RowOrigins
from sqlext.spec.metadata.idempotent_batch import Batch, BatchRun
from sqlext.spec.metadata.table_metadata import new_table_metadata
from sqlext.spec.sort_order import UNSORTED

OTHER = "file:///elsewhere/1.parquet"
OF_FILES: dict[type, Callable[[Sequence[ContentFile], int], Action]] = {
    AppendFiles: lambda files, head: AppendFiles(files),
    OverwriteFiles: lambda files, head: OverwriteFiles(files, base_snapshot_id=head),
    OverwriteRows: lambda files, head: OverwriteRows(None, files, base_snapshot_id=head),
    RowDelta: lambda files, head: RowDelta(files, base_snapshot_id=head),
    RewriteFiles: lambda files, head: RewriteFiles(
        [replace(files[0], file_path=OTHER)],
        files,
        1,
        head,
        {files[0].file_path: RowOrigins((OTHER,))},
        lambda rows: (),
    ),
    RewriteDeleteFiles: lambda files, head: RewriteDeleteFiles((), head, files),
    CreateTable: lambda files, head: CreateTable(SCHEMA, UNPARTITIONED, UNSORTED, {}, 2, "", AppendFiles(files)),
    ReplaceTable: lambda files, head: ReplaceTable(SCHEMA, UNPARTITIONED, UNSORTED, initial=AppendFiles(files)),
    AdvanceStream: lambda files, head: AdvanceStream("q", None, StreamProgress("run"), AppendFiles(files)),
    CommitOnce: lambda files, head: CommitOnce(BatchRun(Batch("app", 1), "run", 0), AppendFiles(files)),
    WriteWithSchema: lambda files, head: WriteWithSchema(AppendFiles(files), SCHEMA, 0, 2),
    UndoOnce: lambda files, head: UndoOnce(head, AppendFiles(files)),
    GiveIdentities: lambda files, head: GiveIdentities(AppendFiles(files), {}, {}, {}),
    RecordExamined: lambda files, head: RecordExamined(AppendFiles(files), {}),
    RecordedAction: lambda files, head: RecordedAction(AppendFiles(files), None),  # type: ignore[arg-type]
}
NOT_THEIRS: dict[type, Callable[[Sequence[ContentFile], int], Action]] = {
    AddFiles: lambda files, head: AddFiles(files, 0, ""),
    MakeFoundTable: lambda files, head: MakeFoundTable(
        new_table_metadata(SCHEMA, UNPARTITIONED, UNSORTED, "", {}, 2, "", 0), files
    ),
    AppendFiles: lambda files, head: AppendFiles(files, owned=False),
}


def _actions() -> Iterator[type]:
    """Those of the package that are made of files, or of another action."""
    for module in pkgutil.walk_packages(sqlext.commit.__path__, "sqlext.commit."):
        found = importlib.import_module(module.name)
        for one in vars(found).values():
            is_here = isinstance(one, type) and one.__module__ == found.__name__ and not one.__name__.startswith("_")
            if is_here and "begin" in vars(one) and is_dataclass(one):
                told = " ".join(str(field.type) for field in fields(one))
                if any(name in told for name in ("ContentFile", "Action", "AppendFiles")):
                    yield one


def test_each_action_with_files_is_here() -> None:
    assert set(_actions()) == set(OF_FILES) | set(NOT_THEIRS)


@pytest.mark.parametrize(
    ("make", "stays"),
    [*((make, False) for make in OF_FILES.values()), *((make, True) for make in NOT_THEIRS.values())],
    ids=[*(one.__name__ for one in OF_FILES), *(f"{one.__name__} of others" for one in NOT_THEIRS)],
)
def test_files_of_a_commit_that_was_never_staged(
    tmp_path: Path, make: Callable[[Sequence[ContentFile], int], Action], stays: bool
) -> None:
    catalog = warehouse_catalog(tmp_path)
    writer = Writer(catalog, seed=3)
    writer.create()
    writer.append(1)
    metadata = catalog.load_table(ORDERS).metadata
    file = data_file(metadata, [2])
    assert metadata.current_snapshot_id is not None
    action = make((file,), metadata.current_snapshot_id)
    context = CommitContext(
        "lake.db.orders", "id", catalog.io, lambda: 0, random.Random(3), ManifestCache(0), lambda base: True
    )
    action.begin(context).abandon()
    assert catalog.io.exists(file.file_path) == stays
