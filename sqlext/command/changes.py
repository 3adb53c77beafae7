"""`table_changes('catalog.namespace.table', from, to)` and `catalog.namespace.table.changes`: a table's change feed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlext.command.environment import Environment
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.scan.changed_files import changed_files
from sqlext.scan.scan_plan import ScanPlan
from sqlext.spark.catalog_bridge import ChangeView
from sqlext.spark.catalogs import TableVersion, handle_of
from sqlext.spark.table_handle import TableHandle
from sqlext.spark.time_travel import pinned_snapshot, travel
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.snapshot import Snapshot
from sqlext.spec.table_metadata import TableMetadata
from sqlext.sql.lowering.changes import ChangeStep, change_schema, lower_changes
from sqlext.sql.quoting import quote_name, quote_string

_NET = "net"
_EACH = "each"


class ChangeFeed:
    """Answers what a change feed is as SQL."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def sql(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """{"sql": …} for the changes behind the place `from` up to `to`: a snapshot's id, a reference or a time.

        Without `from` everything is a change, without `to` the newest snapshot is meant. `mode` is `each` for the
        changes of every snapshot, or `net` for the difference between the two places.

        Errors: NotFoundError for a place that is not there; AnalysisError CHANGES_MODE_INVALID, CHANGES_OF_NO_TABLE,
        CHANGES_NOT_BEHIND where `from` is not behind `to`, CHANGES_EXPIRED where snapshots between them have expired.
        """
        mode = str(arguments["mode"] or _EACH).lower()
        if mode not in (_EACH, _NET):
            raise AnalysisError("CHANGES_MODE_INVALID", mode=arguments["mode"])
        handle, metadata = self.table(tuple(arguments["table"]))
        end = self.snapshot(handle, metadata, arguments["to"]) or self.head(handle)
        start = None if end is None else self.snapshot(handle, metadata, arguments["from"])
        return {"sql": lower_changes(self.steps(handle, metadata, start, end, net=mode == _NET), metadata.schema())}

    def view(self, parts: tuple[str, ...]) -> ChangeView:
        """What `catalog.namespace.table.changes` is: all changes that the table still knows of."""
        text = self.sql({"table": parts, "from": None, "to": None, "mode": None})["sql"]
        schema = self._environment.catalogs.locate(parts)[1].metadata.schema()
        return ChangeView(text, change_schema(schema))

    def steps(
        self, handle: TableHandle, metadata: TableMetadata, start: Snapshot | None, end: Snapshot | None, *, net: bool
    ) -> Sequence[ChangeStep]:
        """What each snapshot behind `start` up to `end` did, or with `net` what lies between the two."""
        if end is None:
            return [self.nothing(handle)]
        pairs = [(start, end)] if net else snapshot_pairs(handle, metadata, start, end)
        return [self.step(handle, before, after, number) for number, (before, after) in enumerate(pairs)]

    def nothing(self, handle: TableHandle) -> ChangeStep:
        """A step without changes."""
        return ChangeStep(None, quote_name((*_name(handle), *_branch(handle))), 0, 0, (), (), ())

    def table(self, parts: tuple[str, ...]) -> tuple[TableHandle, TableMetadata]:
        """The table that the name means, at the head of main or of the branch in the name; AnalysisError
        CHANGES_OF_NO_TABLE."""
        place, table = self._environment.catalogs.locate(parts)
        if place.metadata_table is not None or place.at.keys() - {"branch"}:
            raise AnalysisError("CHANGES_OF_NO_TABLE", name=".".join(parts))
        return travel(handle_of(parts[0], table), table.metadata, place.at), table.metadata

    def head(self, handle: TableHandle) -> Snapshot | None:
        """The newest snapshot at the handle's branch."""
        return self._environment.catalogs.version(handle).snapshot

    def snapshot(self, handle: TableHandle, metadata: TableMetadata, place: Mapping[str, Any]) -> Snapshot | None:
        """The snapshot that is meant, None for none."""
        if not place:
            return None
        found = travel(replace(handle, branch=None), metadata, place)
        return self._environment.catalogs.version(found).snapshot

    def step(self, handle: TableHandle, before: Snapshot | None, after: Snapshot, ordinal: int) -> ChangeStep:
        """What lies between two snapshots of the table at the handle's version of its metadata."""
        then = ScanPlan() if before is None else self.plan(handle, before)
        files = changed_files(then, self.plan(handle, after))
        return ChangeStep(
            None if before is None else _relation(handle, before),
            _relation(handle, after),
            ordinal,
            after.snapshot_id,
            files.removed,
            files.added,
            files.touched,
        )

    def plan(self, handle: TableHandle, snapshot: Snapshot) -> ScanPlan:
        """All files of a snapshot."""
        version: TableVersion = self._environment.catalogs.version(pinned_snapshot(handle, snapshot.snapshot_id))
        return self._environment.scans.plan(version, AlwaysTrue(), with_metrics=False)


def snapshot_pairs(
    handle: TableHandle, metadata: TableMetadata, start: Snapshot | None, end: Snapshot
) -> Sequence[tuple[Snapshot | None, Snapshot]]:
    """Each snapshot up to `end` with the one before it, oldest first; rewrites of files change no row."""
    chain: list[Snapshot] = []
    known = {one.snapshot_id: one for one in metadata.snapshots}
    at: Snapshot | None = end
    while at is not None and at != start:
        chain.append(at)
        parent = at.parent_snapshot_id
        at = None if parent is None else known.get(parent)
    if start is not None and at is None:
        oldest = chain[-1].parent_snapshot_id
        condition = "CHANGES_NOT_BEHIND" if oldest is None else "CHANGES_EXPIRED"
        raise AnalysisError(condition, name=handle.full_name, start=start.snapshot_id, end=end.snapshot_id)
    if not chain:
        return [(start, end)]
    before: list[Snapshot | None] = [*chain[1:], start]
    pairs = list(zip(before, chain, strict=True))[::-1]
    changing = [(parent, one) for parent, one in pairs if parent is None or one.summary.get("operation") != "replace"]
    return changing or pairs[:1]


def _relation(handle: TableHandle, snapshot: Snapshot) -> str:
    """The snapshot's rows in the columns that the table has now."""
    file = handle.metadata_location.rpartition("/")[2]
    return f"{quote_name(_name(handle))} VERSION AS OF {quote_string(f'@{file}//{snapshot.snapshot_id}')}"


def _name(handle: TableHandle) -> tuple[str, ...]:
    if handle.catalog is None:
        raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=handle.full_name)
    return (handle.catalog, *handle.namespace, handle.name)


def _branch(handle: TableHandle) -> tuple[str, ...]:
    return () if handle.branch is None else (f"branch_{handle.branch}",)
