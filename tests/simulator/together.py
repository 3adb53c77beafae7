"""Several changes of rows that a process commits as one group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from simulator.files import ROWS, data_file, stored_rows
from simulator.statements import STATEMENT, Change, Files, Rows, Statement
from simulator.world import Process
from sqlext.commit.action import Destination
from sqlext.commit.group.group import Member, abandon_member, commit_group
from sqlext.commit.group.small_files import SmallFiles
from sqlext.errors import CommitStateUnknown, SqlextError
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO


@dataclass
class Together(Statement):
    """Changes of one branch, which land together; each has an outcome of its own.

    Snapshots of plain appends say nothing of the statement, so that several are one: their rows do. Where it `merges`,
    their files are one too.
    """

    parts: Sequence[Change] = ()
    merges: bool = False

    def __str__(self) -> str:
        return f"{self.name}: together{' and merged' if self.merges else ''} {', '.join(map(str, self.parts))}"

    def branch(self) -> str | None:
        return self.parts[0].on

    def run(self, process: Process) -> None:
        members = []
        try:
            for part in self.parts:
                base = process.catalog.load_table(self.table)
                files = Files(process, f"{part.name}-0")
                with files.removed_on_error():
                    action = part.planned(process, base, files)
                summary = () if part.kind == "append" else ((STATEMENT, part.name),)
                members.append(Member(action, base, Destination(part.on, summary=summary), f"commit of {part.name}"))
        except SqlextError as error:
            for part in self.parts:
                part.outcome, part.error = "refused", error
            for member in members:
                abandon_member(process.catalog, self.table, member, process.rng)
            return
        given: dict[str, Any] = {"clock": process.clock, "rng": process.rng, "sleep": process.sleep}
        given |= {"small": SmallFiles(1 << 20, _merge) if self.merges else None, "queue": process.queue}
        newest = members[-1].base
        for part, verdict in zip(
            self.parts,
            commit_group(process.catalog, self.table, members, base=newest, manifests=process.manifests, **given),
            strict=True,
        ):
            if isinstance(verdict, CommitStateUnknown):
                part.outcome, part.error, self.was_unknown = "unknown", verdict, True
            elif isinstance(verdict, SqlextError):
                part.outcome, part.error = "refused", verdict
            elif isinstance(verdict, BaseException):
                raise verdict
            else:
                part.outcome = "acknowledged"

    def of(self, said: str | None, added: Sequence[str]) -> Snapshotted:
        """The parts that a snapshot holds, by what its summary says or the rows that it added."""
        if said is not None:
            return Snapshotted(self, [part for part in self.parts if part.name == said])
        names = {text for path in added for _, text in ROWS.get(f"file://{path}", ())}
        return Snapshotted(self, [part for part in self.parts if part.name in names and part.kind == "append"])


@dataclass
class Snapshotted:
    """What one snapshot of a group holds, as a statement."""

    group: Together
    parts: Sequence[Change] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.group.name}: {', '.join(map(str, self.parts))}"

    def apply(self, rows: Rows) -> Rows:
        for part in self.parts:
            rows = +part.apply(rows)
        return rows


def _merge(
    io: FileIO, metadata: TableMetadata, table_name: str, operation_id: str, files: Sequence[ContentFile]
) -> tuple[Sequence[ContentFile], Sequence[ContentFile]]:
    """As `merge_data_files`, for the files of a simulation."""
    rows = [row for file in files for row in stored_rows(io, file.file_path)]
    return [data_file(io, f"{metadata.location}/data/{operation_id}.parquet", rows)], files
