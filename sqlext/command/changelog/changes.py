"""The change feed of a table: `table_changes('catalog.namespace.table', from, to)` and
`catalog.namespace.table.changes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from sqlext.command.changelog.change_spans import Pair, Span, changelog_spans, history_between
from sqlext.command.environment import Environment
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.scan.changed_files import changed_files
from sqlext.scan.scan_plan import ScanPlan
from sqlext.spark.bridge.catalog_bridge import ChangeView
from sqlext.spark.catalog.session_catalogs import TableVersion, handle_of
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.catalog.time_travel import Pin, pinned_snapshot, travel
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.field_path import path_text
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.snapshot_line import ancestors
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.lowering.changes import ChangeStep, change_schema, lower_changes
from sqlext.sql.tokens.quoting import quote_name, quote_string

_NET = "net"
_EACH = "each"


ToldChanges: TypeAlias = Callable[[TableHandle, Snapshot | None, Snapshot, int], str | None]
"""The text of a relation that has the changes of a table from one snapshot to another, as `ChangeStep.told`, with the
ordinal given. None: a query has to find them."""


class ChangeFeed:
    """Change feeds as SQL text for Spark; of the steps that `told` has no relation for, as a query."""

    def __init__(
        self, environment: Environment, told: ToldChanges = lambda handle, before, after, ordinal: None
    ) -> None:
        self._environment = environment
        self._told = told

    def sql(self, arguments: Mapping[str, Any]) -> str:
        """A SELECT of the changes after `from` up to `to`, each a snapshot id, a reference or a time.

        Without `from` the feed begins with the first snapshot, without `to` it ends with the newest. `mode` is `each`
        for the changes of every snapshot, or `net` for the difference between the ends.

        Raises NotFoundError if `from` or `to` does not exist, AnalysisError CHANGES_ARGUMENTS for arguments that the
        shim has `refused`, CHANGES_MODE_INVALID, CHANGES_OF_NO_TABLE, CHANGES_NOT_BEHIND if `from` is no ancestor of
        `to`, and CHANGES_EXPIRED if snapshots between them are expired.
        """
        if "refused" in arguments:
            raise AnalysisError("CHANGES_ARGUMENTS", reason=arguments["refused"])
        mode = str(arguments["mode"] or _EACH).lower()
        if mode not in (_EACH, _NET):
            raise AnalysisError("CHANGES_MODE_INVALID", mode=arguments["mode"])
        handle, metadata = self.table(tuple(arguments["table"]))
        end = self.snapshot(handle, metadata, arguments["to"]) or self.head(handle)
        start = None if end is None else self.snapshot(handle, metadata, arguments["from"])
        return lower_changes(self.steps(handle, metadata, start, end, net=mode == _NET), metadata.schema())

    def view(self, parts: tuple[str, ...]) -> ChangeView:
        """The view `catalog.namespace.table.changes`: the changes of all snapshots that are not expired."""
        text = self.sql({"table": parts, "from": None, "to": None, "mode": None})
        schema = self._environment.catalogs.locate(parts)[1].metadata.schema()
        return ChangeView(text, change_schema(schema))

    def steps(
        self, handle: TableHandle, metadata: TableMetadata, start: Snapshot | None, end: Snapshot | None, *, net: bool
    ) -> Sequence[ChangeStep]:
        """A step for each snapshot after `start` up to `end`, or with `net` one step for the difference."""
        if end is None:
            return [self.nothing(handle)]
        if net:
            return [self.net_step(handle, metadata, start, end, 0)]
        spans = changelog_spans(snapshot_pairs(handle, metadata, start, end)) or [Span(end, end)]
        return [self._step_of(handle, span, number) for number, span in enumerate(spans)]

    def net_step(
        self, handle: TableHandle, metadata: TableMetadata, start: Snapshot | None, end: Snapshot, ordinal: int
    ) -> ChangeStep:
        """The difference of two snapshots; from stored changelogs, if all snapshots between have them, so that only
        changed rows are read."""
        spans = changelog_spans(history_between(metadata, start, end) or ())
        changelogs = [one.changelog for one in spans if one.changelog is not None]
        if not changelogs or not all(one.reads_changes_only for one in spans):
            return self._step_of(handle, Span(start, end), ordinal)
        parts = [self._step_of(handle, one, ordinal) for one in spans]
        return replace(self.nothing(handle), ordinal=ordinal, snapshot_id=end.snapshot_id, parts=parts)

    def _step_of(self, handle: TableHandle, span: Span, ordinal: int) -> ChangeStep:
        """The changes of a span, from its stored changelog if it has one."""
        stored = told = None
        if span.changelog is not None and self.has_changelog(handle, span.changelog):
            stored = _relation(handle, span.changelog, changelog=True)
        else:
            told = self._told(handle, span.before, span.after, ordinal)
        if stored is None and told is None:
            return self.step(handle, span.before, span.after, ordinal)
        after = _relation(handle, span.after)
        return ChangeStep(None, after, ordinal, span.after.snapshot_id, (), (), (), stored, told)

    def has_changelog(self, handle: TableHandle, snapshot: Snapshot) -> bool:
        """Whether the snapshot's changelog exists: another engine may have removed it as an orphan file."""
        version = self._environment.catalogs.version(
            replace(pinned_snapshot(handle, snapshot.snapshot_id), changelog=True)
        )
        return version.snapshot is not None and version.io.exists(version.snapshot.manifest_list)

    def nothing(self, handle: TableHandle) -> ChangeStep:
        """A step without changes."""
        return ChangeStep(None, quote_name((*_name(handle), *_branch(handle))), 0, 0, (), (), ())

    def table(self, parts: tuple[str, ...]) -> tuple[TableHandle, TableMetadata]:
        """The table `parts`, at the head of main or of the branch in the name. Raises AnalysisError
        CHANGES_OF_NO_TABLE."""
        place, table = self._environment.catalogs.locate(parts)
        if not place.is_head:
            raise AnalysisError("CHANGES_OF_NO_TABLE", name=path_text(parts))
        return travel(handle_of(parts[0], table), table.metadata, place.at), table.metadata

    def head(self, handle: TableHandle) -> Snapshot | None:
        """The newest snapshot of the handle's branch."""
        return self._environment.catalogs.version(handle).snapshot

    def snapshot(self, handle: TableHandle, metadata: TableMetadata, place: Mapping[str, Any]) -> Snapshot | None:
        """The snapshot at `place`; None for an empty one."""
        if not place:
            return None
        found = travel(replace(handle, branch=None), metadata, place)
        return self._environment.catalogs.version(found).snapshot

    def step(self, handle: TableHandle, before: Snapshot | None, after: Snapshot, ordinal: int) -> ChangeStep:
        """The difference of two snapshots of the table, by the files that differ."""
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

    def append_step(self, handle: TableHandle, snapshot: Snapshot, ordinal: int) -> ChangeStep:
        """The changes of a snapshot that only added files, by their sequence number; its parent may be expired."""
        tasks = self.plan(handle, snapshot).tasks
        added = sorted(task.file.file_path for task in tasks if task.sequence_number == snapshot.sequence_number)
        return ChangeStep(None, _relation(handle, snapshot), ordinal, snapshot.snapshot_id, (), added, ())

    def plan(self, handle: TableHandle, snapshot: Snapshot) -> ScanPlan:
        """The scan plan of a snapshot, without predicate and metrics."""
        version: TableVersion = self._environment.catalogs.version(pinned_snapshot(handle, snapshot.snapshot_id))
        return self._environment.scans.plan(version, AlwaysTrue(), with_metrics=False)


class PlansInOrder:
    """Scan plans of a table's snapshots, as `ChangeFeed.plan`.

    The last is kept, since the end of a step is the beginning of the next, and to list the files of a snapshot is most
    of the cost of a small step.
    """

    def __init__(self, environment: Environment) -> None:
        self._feed = ChangeFeed(environment)
        self._last: tuple[TableHandle, int, ScanPlan] | None = None

    def plan(self, handle: TableHandle, snapshot: Snapshot | None) -> ScanPlan:
        """The plan; without a snapshot that of no file."""
        if snapshot is None:
            return ScanPlan()
        if self._last is not None and self._last[:2] == (handle, snapshot.snapshot_id):
            return self._last[2]
        plan = self._feed.plan(handle, snapshot)
        self._last = handle, snapshot.snapshot_id, plan
        return plan


def snapshot_pairs(
    handle: TableHandle, metadata: TableMetadata, start: Snapshot | None, end: Snapshot
) -> Sequence[Pair]:
    """Each snapshot after `start` up to `end` with its parent, oldest first.

    Raises AnalysisError CHANGES_NOT_BEHIND if `start` is no ancestor of `end`, CHANGES_EXPIRED if that is not known.
    """
    pairs = history_between(metadata, start, end)
    if pairs is None:
        assert start is not None
        oldest = list(ancestors(metadata, end))[-1].parent_snapshot_id
        condition = "CHANGES_NOT_BEHIND" if oldest is None else "CHANGES_EXPIRED"
        raise AnalysisError(condition, name=handle.full_name, start=start.snapshot_id, end=end.snapshot_id)
    return pairs


def _relation(handle: TableHandle, snapshot: Snapshot, *, changelog: bool = False) -> str:
    """The SQL name of the table at a snapshot, with the table's current columns, or of the snapshot's changelog."""
    file = handle.metadata_location.rpartition("/")[2]
    pin = Pin(file, snapshot_id=snapshot.snapshot_id, changelog=changelog)
    return f"{quote_name(_name(handle))} VERSION AS OF {quote_string(pin.version)}"


def _name(handle: TableHandle) -> tuple[str, ...]:
    if handle.catalog is None:
        raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=handle.full_name)
    return (handle.catalog, *handle.namespace, handle.name)


def _branch(handle: TableHandle) -> tuple[str, ...]:
    return () if handle.branch is None else (f"branch_{handle.branch}",)
