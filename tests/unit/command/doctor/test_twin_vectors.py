"""Two deletion vectors of one data file, as a writer leaves them that does not replace the earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyroaring import BitMap64

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.doctor.answer import Answer, Repairing
from sqlext.command.doctor.consultation import consult
from sqlext.commit.snapshot.deletion_vectors import StagedVectors, VectorProduction
from sqlext.errors import CorruptionError
from sqlext.scan.checks.finding import Check
from sqlext.spec.manifests.content_file import ContentFile
from unit.command.lake import Lake

IDS = list(range(20))


def damaged(folder: Path, monkeypatch: pytest.MonkeyPatch, *, covers: bool) -> Lake:
    """A table with two vectors for its file; the newer one has the row of the older if it `covers` it."""
    lake = Lake(folder)
    lake.create("CREATE TABLE t (id BIGINT) TBLPROPERTIES ('format-version'='3')")
    lake.append(id=IDS)
    (file,) = lake.files()
    lake.delete({file.file_path: [3]})
    stage = VectorProduction.stage

    def leaving(self: VectorProduction, *given: Any) -> StagedVectors:
        return replace(stage(self, *given), superseded=frozenset())

    monkeypatch.setattr(VectorProduction, "stage", leaving)
    if not covers:
        write = VectorProduction._write

        def without(self: VectorProduction, base: Any, deleted: Any) -> tuple[ContentFile, ...]:
            own = {path: replace(rows, positions=rows.positions - BitMap64([3])) for path, rows in deleted.items()}
            return write(self, base, own)

        monkeypatch.setattr(VectorProduction, "_write", without)
    lake.delete({file.file_path: [5]})
    monkeypatch.undo()
    return lake


def fsck(lake: Lake, repair: Repairing = Repairing.NOTHING) -> Sequence[Answer]:
    return consult(lake.environment, "lake", TableIdentifier(("db",), "t"), repair)


def test_those_that_a_newer_one_covers_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = damaged(tmp_path, monkeypatch, covers=True)
    with pytest.raises(CorruptionError, match="has another one"):
        lake.rows()
    assert [one.finding.check for one in fsck(lake)] == [Check.DELETION_VECTOR]
    (answer,) = fsck(lake, Repairing.DAMAGE)
    assert "1 deletion vectors are removed" in answer.repair
    assert "nothing is lost" in answer.repair
    assert fsck(lake) == []
    assert sorted(lake.rows()) == [(id,) for id in IDS if id not in (3, 5)]


def test_of_two_with_rows_of_their_own_none_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = damaged(tmp_path, monkeypatch, covers=False)
    before = lake.load().metadata
    (answer,) = fsck(lake, Repairing.DAMAGE)
    assert answer.finding.check == Check.DELETION_VECTOR
    assert answer.repair.startswith("not done: each deletion vector of ")
    assert lake.load().metadata == before
