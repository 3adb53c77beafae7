"""Tables as sources of streaming queries: a batch has the changes between two positions in the table's history.

A stream begins with the rows of a snapshot, or after a snapshot. Later batches have the rows that snapshots append;
with row kinds, the net changes between the first and the last snapshot of the batch, with each key once.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.changelog.change_spans import changing
from sqlext.command.changelog.changes import ChangeFeed, snapshot_pairs
from sqlext.command.environment import Environment
from sqlext.commit.actions.consumer import Consumer, consumer_or_none
from sqlext.errors import (
    AnalysisError,
    CorruptionError,
    NotFoundError,
    SqlextError,
    UnsupportedError,
    ValidationConflict,
)
from sqlext.spark.catalog.data_type import schema_to_spark
from sqlext.spark.catalog.session_catalogs import handle_of
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.snapshot_line import ancestors
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.row_kind import ROW_KIND
from sqlext.sql.lowering.changes import ChangeStep, lower_changes, lower_kinds
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.streaming.kept_position import KeptPositions, QuerySource
from sqlext.streaming.source_options import SourceOptions, source_options

_LOG = logging.getLogger("sqlext")
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Position:
    """Spark's offset of a stream: it has read all up to `snapshot` (None: nothing), or of its files the first `files`.

    The stream began after the snapshot `origin` or with the rows of `scan`; at most one of the two is set.
    """

    table: str
    origin: int | None = None
    scan: int | None = None
    snapshot: int | None = None
    files: int | None = None

    def encode(self) -> str:
        return json.dumps({"version": _VERSION, **asdict(self)}, sort_keys=True)

    @classmethod
    def decode(cls, text: str, name: str) -> Position:
        """Raises CorruptionError STREAM_OFFSET_UNREADABLE."""
        try:
            value = json.loads(text)
            if value.pop("version") != _VERSION:
                raise ValueError("it is of another version")
            return cls(**value)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CorruptionError("STREAM_OFFSET_UNREADABLE", name=name, reason=error) from None

    @property
    def start(self) -> Position:
        """Where the stream began."""
        return replace(self, snapshot=self.origin, files=None)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a batch: of the added files between `before` (None: an empty table) and `after`, those from `first` up
    to `last` (None: all).

    `alone`: the parent of `after` has expired, and the files with the sequence number of `after` are its changes.
    `whole`: snapshots between the two have expired, so the part cannot be divided between batches.
    """

    before: Snapshot | None
    after: Snapshot
    first: int = 0
    last: int | None = None
    alone: bool = False
    whole: bool = False


class StreamingSource:
    """Answers the shim's calls for all streams. The state of a stream is its position alone.

    A call comes from the `query` of the stream, as `QuerySource.of` reads it.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._feed = ChangeFeed(environment)
        self._positions = KeptPositions(environment)

    def describe(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Whether rows have row kinds. Raises as `source_options`, and UnsupportedError STREAM_OF_PLACE for a snapshot
        or a table read by path."""
        handle = TableHandle.decode(arguments["table"])
        if handle.catalog is None or handle.snapshot_id is not None or handle.read_optimized:
            raise UnsupportedError("STREAM_OF_PLACE", name=handle.full_name)
        return {"row_kinds": source_options(arguments["options"]).row_kinds}

    def head(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The id of the head of the branch; None for an empty table."""
        head = self._open(arguments).head
        return {"snapshot": None if head is None else head.snapshot_id}

    def offset(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The end of the batch after `start`: the snapshot `until` (None: the head), or earlier by the options' limits
        if `limited`. For an empty table it is `start`, None for a stream that has not begun."""
        stream = self._open(arguments)
        until = stream.head if arguments["until"] is None else stream.snapshot(arguments["until"])
        given = arguments["start"]
        if until is None:
            # All later rows are new to this stream, so its position must be known.
            begins_now = given is None and stream.options.from_latest
            return {"offset": Position(stream.metadata.table_uuid).encode() if begins_now else given}
        start = stream.beginning(until) if given is None else Position.decode(given, stream.name)
        self._keep(stream, start, QuerySource.of(arguments["query"]))
        return {"offset": self._reached(stream, start, until, limited=bool(arguments["limited"])).encode()}

    def batch(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The query for the rows between two positions. Raises ValidationConflict STREAM_POSITION_GONE,
        STREAM_TABLE_REPLACED, STREAM_COLUMNS_CHANGED or STREAM_SNAPSHOT_CHANGES_ROWS."""
        stream = self._open(arguments)
        end = Position.decode(arguments["end"], stream.name)
        given = arguments["start"]
        start = end.start if given is None else Position.decode(given, stream.name)
        stream.require_table(end)
        return {"sql": self._sql(stream, list(stream.pieces(start, end)))}

    def stopped(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Has the table know how far a query without a name has read that ends, or forget one that cannot go on, as its
        checkpoint goes too. A failure is a warning."""
        handle, options = TableHandle.decode(arguments["table"]), source_options(arguments["options"])
        if options.consumer is not None or not options.protects:
            return {}
        catalog, source = str(handle.catalog), QuerySource.of(arguments["query"])
        try:
            table = self._environment.catalogs.load((catalog, *handle.namespace, handle.name))
            stream = _Stream(replace(handle_of(catalog, table), branch=handle.branch), table, options)
            if source.is_temporary:
                self._positions.forget(catalog, table, source)
            elif arguments["start"] is not None:
                self._keep(stream, Position.decode(arguments["start"], stream.name), source, ends=True)
        except (SqlextError, OSError) as failure:
            _LOG.warning("The end of query %s is not known to %s: %s", source.told, handle.full_name, failure)
        return {}

    def _keep(self, stream: _Stream, position: Position, source: QuerySource, *, ends: bool = False) -> None:
        """Has the table keep what follows `position`, up to which Spark has logged the query's progress."""
        options, loaded = stream.options, stream.loaded
        if position.table != loaded.metadata.table_uuid:
            return
        at = replace(stream.consumer_at(position, self._environment.clock()), query=source.told)
        catalog = str(stream.handle.catalog)
        if options.consumer is not None:
            self._positions.keep(catalog, loaded, stream.name, options.consumer, at)
        elif options.protects:
            self._positions.keep_query(catalog, loaded, stream.name, source, at, ends=ends)

    def _open(self, arguments: Mapping[str, Any]) -> _Stream:
        handle = TableHandle.decode(arguments["table"])
        parts = (str(handle.catalog), *handle.namespace, handle.name)
        table = self._environment.catalogs.load(parts)
        now = replace(handle_of(parts[0], table), branch=handle.branch)
        stream = _Stream(now, table, source_options(arguments["options"]))
        if table.metadata.table_uuid != handle.table_uuid:
            raise stream.replaced()
        columns = [field["name"] for field in json.loads(arguments["columns"])["fields"]]
        own = [field["name"] for field in schema_to_spark(table.metadata.schema())["fields"]]
        if columns != [*own, *([ROW_KIND.name] if stream.options.row_kinds else [])]:
            raise ValidationConflict("STREAM_COLUMNS_CHANGED", name=stream.name)
        return stream

    def _reached(self, stream: _Stream, start: Position, until: Snapshot, *, limited: bool) -> Position:
        """The end of the batch that begins at `start`: at most the limits, or one file that exceeds them."""
        stream.require_table(start)
        options = stream.options if limited else replace(stream.options, max_files=None, max_rows=None)
        if options.row_kinds and start.files is not None:
            # The rows of the first scan are all inserts, and cannot be in one batch with later changes.
            until = stream.snapshot(start.scan or until.snapshot_id)
        end = replace(start, snapshot=until.snapshot_id, files=None)
        first = next(stream.pieces(start, end), None) if options.row_kinds else None
        if first is not None and first.alone:
            # Net changes need its parent, which has expired, so its rows are a batch of their own.
            end = replace(start, snapshot=first.after.snapshot_id, files=None)
        if options.max_files is None and options.max_rows is None:
            return end
        reached, files, rows = start, 0, 0
        for piece in stream.pieces(start, end):
            step = self._files(stream, piece, 0)
            divisible = not (step.removed or step.touched or piece.whole)
            divisible = divisible and (piece.before is None or not options.row_kinds)
            for number, count in enumerate(self._rows_of(stream, piece.after, step.added[piece.first :])):
                files, rows = files + 1, rows + count
                if files <= (options.max_files or files) and rows <= (options.max_rows or rows):
                    continue
                if reached != start:
                    return reached
                if divisible and number:
                    return replace(start, snapshot=piece.after.snapshot_id, files=piece.first + number)
            reached = replace(start, snapshot=piece.after.snapshot_id, files=None)
        return end

    def _rows_of(self, stream: _Stream, snapshot: Snapshot, paths: Sequence[str]) -> list[int]:
        tasks = self._feed.plan(stream.handle, snapshot).tasks
        counts = {task.file.file_path: task.file.record_count for task in tasks}
        return [counts[path] for path in paths]

    def _sql(self, stream: _Stream, pieces: Sequence[_Piece]) -> str:
        schema = stream.metadata.schema()
        columns = ", ".join(quote_identifier(field.name) for field in schema.fields)
        if stream.options.row_kinds and len(pieces) > 1:
            if pieces[0].alone:
                raise stream.position_gone(pieces[0].after.parent_snapshot_id)
            pieces = [replace(pieces[0], after=pieces[-1].after)]
        found = (self._step(stream, piece, number) for number, piece in enumerate(pieces))
        steps = [step for step in found if step is not None] or [self._feed.nothing(stream.handle)]
        if not stream.options.row_kinds:
            return f"SELECT {columns} FROM ({lower_changes(steps, replace(schema, identifier_field_ids=()))})"
        return lower_kinds(lower_changes(steps, schema), schema)

    def _step(self, stream: _Stream, piece: _Piece, ordinal: int) -> ChangeStep | None:
        if stream.options.row_kinds and piece.before is not None:
            return self._feed.net_step(stream.handle, stream.metadata, piece.before, piece.after, ordinal)
        step = self._files(stream, piece, ordinal)
        step = replace(step, added=step.added[piece.first : piece.last])
        if stream.options.row_kinds or not (step.removed or step.touched):
            return step
        operation = str(piece.after.summary.get("operation"))
        if operation in stream.options.skipped:
            return None
        kind = "delete" if operation == "delete" else "overwrite"
        raise ValidationConflict(
            "STREAM_SNAPSHOT_CHANGES_ROWS",
            name=stream.name,
            snapshot=piece.after.snapshot_id,
            operation=operation,
            option=f"streaming-skip-{kind}-snapshots",
        )

    def _files(self, stream: _Stream, piece: _Piece, ordinal: int) -> ChangeStep:
        if piece.alone:
            return self._feed.append_step(stream.handle, piece.after, ordinal)
        return self._feed.step(stream.handle, piece.before, piece.after, ordinal)


@dataclass(frozen=True, slots=True)
class _Stream:
    """A table at the version that one call of a stream reads."""

    handle: TableHandle
    loaded: LoadedTable
    options: SourceOptions

    @property
    def metadata(self) -> TableMetadata:
        return self.loaded.metadata

    @property
    def name(self) -> str:
        return self.handle.full_name

    @property
    def head(self) -> Snapshot | None:
        return (
            self.metadata.current_snapshot() if self.handle.branch is None else self.metadata.head(self.handle.branch)
        )

    def snapshot(self, snapshot_id: int) -> Snapshot:
        """The snapshot. Raises ValidationConflict STREAM_POSITION_GONE if it has expired."""
        found = self.metadata.snapshot_or_none(snapshot_id)
        if found is None:
            raise self.position_gone(snapshot_id)
        return found

    def position_gone(self, snapshot_id: int | None) -> ValidationConflict:
        """The error for a position in history that has expired."""
        return ValidationConflict("STREAM_POSITION_GONE", name=self.name, start=snapshot_id)

    def require_table(self, position: Position) -> None:
        """Raises ValidationConflict STREAM_TABLE_REPLACED for a position in another table."""
        if position.table != self.metadata.table_uuid:
            raise self.replaced()

    def replaced(self) -> ValidationConflict:
        """The error for a table that was dropped and made anew."""
        return ValidationConflict(
            "STREAM_TABLE_REPLACED", name=self.name, query="", stream=f"The stream of {self.name}"
        )

    def beginning(self, until: Snapshot) -> Position:
        """The first position of a stream whose head is `until`, by its options. Raises NotFoundError
        SNAPSHOT_NOT_FOUND, and ValidationConflict STREAM_POSITION_GONE for a consumer's snapshot that has expired."""
        options, uuid = self.options, self.metadata.table_uuid
        if options.consumer is not None:
            known = consumer_or_none(self.metadata, self.name, options.consumer)
            if known is not None and known.snapshot_id is not None:
                last = self.snapshot(known.snapshot_id).snapshot_id
                return Position(uuid, origin=last, snapshot=last)
            if known is not None and known.needed_id is not None:
                return Position(uuid, scan=self.snapshot(known.needed_id).snapshot_id)
        if options.start_snapshot is not None:
            if self.metadata.snapshot_or_none(options.start_snapshot) is None:
                raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=options.start_snapshot, name=self.name)
            return Position(uuid, origin=options.start_snapshot, snapshot=options.start_snapshot)
        if options.from_latest:
            return Position(uuid, origin=until.snapshot_id, snapshot=until.snapshot_id)
        if options.start_ms is not None:
            earlier = [entry for entry in self.metadata.snapshot_log if entry.timestamp_ms <= options.start_ms]
            if earlier:
                last = max(earlier, key=lambda entry: entry.timestamp_ms).snapshot_id
                return Position(uuid, origin=last, snapshot=last)
        return Position(uuid, scan=until.snapshot_id)

    def consumer_at(self, position: Position, now_ms: int) -> Consumer:
        """The consumer's progress at `position`. A snapshot of which only some files are read counts as not
        consumed."""
        branch = self.handle.branch or MAIN_BRANCH
        if position.files is None:
            return Consumer(position.snapshot, position.snapshot or position.scan, now_ms, branch)
        begun = None if position.snapshot is None else self.metadata.snapshot_or_none(position.snapshot)
        if begun is None or position.snapshot == position.scan or begun.parent_snapshot_id is None:
            return Consumer(None, position.scan or position.snapshot, now_ms, branch)
        return Consumer(begun.parent_snapshot_id, begun.parent_snapshot_id, now_ms, branch)

    def pieces(self, start: Position, end: Position) -> Iterator[_Piece]:
        """The parts between two positions of one stream, in order. Raises ValidationConflict STREAM_POSITION_GONE."""
        last = self.snapshot(end.snapshot) if end.snapshot is not None else None
        if last is None or start == end:
            return
        at, begun = start.snapshot, start.files or 0
        if start.scan is not None and (at is None or (at == start.scan and start.files is not None)):
            scanned = self.snapshot(start.scan)
            whole = end.snapshot != start.scan
            yield _Piece(None, scanned, begun, None if whole else end.files)
            if not whole:
                return
            at, begun = start.scan, 0
        if at is not None and not begun and self.metadata.snapshot_or_none(at) is None:
            first = self._first_behind(at, last)
            if first.operation != "replace":
                yield _Piece(None, first, 0, end.files if first == last else None, alone=True)
            at = first.snapshot_id
        before = None if at is None else self.snapshot(at)
        if begun and before is not None:
            # The remaining files of a partly read snapshot come first.
            parent_id = before.parent_snapshot_id
            parent = None if parent_id is None else self.metadata.snapshot_or_none(parent_id)
            alone = False
            if parent_id is not None and parent is None:
                alone = self._first_behind(parent_id, before).operation == "append"
                if not alone:
                    raise self.position_gone(parent_id)
            yield _Piece(parent, before, begun, end.files if before == last else None, alone=alone)
        if before == last:
            return
        try:
            pairs = changing(snapshot_pairs(self.handle, self.metadata, before, last))
        except AnalysisError as error:
            if error.condition != "CHANGES_EXPIRED" or before is None:
                raise self.position_gone(start.snapshot) from None
            # A tag keeps `before`; snapshots after it have expired, so the batch has the net changes.
            yield _Piece(before, last, 0, end.files, whole=True)
            return
        for parent_of_pair, one in pairs:
            if parent_of_pair is not None and one.summary.get("operation") == "replace":
                continue
            yield _Piece(parent_of_pair, one, 0, end.files if one == last else None)

    def _first_behind(self, expired: int, last: Snapshot) -> Snapshot:
        """The child of an expired snapshot among the ancestors of `last`, if its changes are known without the parent:
        a `replace` changes no row, and an append's files are those with its sequence number.

        Raises ValidationConflict STREAM_POSITION_GONE for any other.
        """
        first = list(ancestors(self.metadata, last))[-1]
        is_append = first.operation == "append" and first.sequence_number > 0
        if first.parent_snapshot_id != expired or not (is_append or first.operation == "replace"):
            raise self.position_gone(expired)
        return first
