"""What must hold after every step of a simulation, from the files alone and with other readers than sqlext's own.

I-1 what is acknowledged stays, once. I-2 what is not is wholly in or out, and what was refused is out. I-3 history is
one line, sequence numbers rise, parents exist, and a file keeps its numbers and row ids. I-4 nothing that is referenced
is missing. I-5 no file lies outside of its table. I-6, I-7 the rows of a snapshot are its statement's, done on its
parent. I-8 a snapshot never changes. I-9 totals are what is there. I-10 what is deleted is not referenced. I-12 a
changelog is there with its snapshot or not at all, and takes the rows of the snapshot before to its own. (I-11 is of
streams.)
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import fastavro

from simulator.changelogs import RecordedChange
from simulator.database import SharedDatabase
from simulator.files import CHANGES
from simulator.server import SharedServer
from simulator.statements import (
    STATEMENT,
    Compact,
    Convert,
    Create,
    Drop,
    MakeBranch,
    Read,
    Replace,
    RewriteOfManifests,
    Rows,
    SetProperty,
    Statement,
)
from simulator.store import Store
from simulator.stored_table import (
    DATA,
    EQUALITY_DELETE,
    GONE,
    METADATA,
    POSITION_DELETE,
    Document,
    LiveFile,
    Observer,
    bases,
    changelog_location,
    decoded,
    identifier_of,
    live_files,
    live_rows,
    path_of,
    record_count,
    shown,
    version_of,
)
from simulator.streams import Consume, StreamedBatch
from simulator.together import Snapshotted, Together
from simulator.transactions import Transaction
from simulator.world import WAREHOUSE, Process, Violation
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.rest.rest_catalog import RestCatalog
from sqlext.catalog.sql.sql_catalog import SqlCatalog
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.errors import SqlextError

_ROOT = WAREHOUSE.removeprefix("file://")

By = tuple[Process, Statement]


@dataclass(slots=True)
class TableHistory:
    """A table from its creation to its drop."""

    location: str
    number: int
    path: str
    document: Document
    statements: dict[str, int] = field(default_factory=dict)
    rows: dict[int, Rows] = field(default_factory=dict)
    files: dict[int, frozenset[str]] = field(default_factory=dict)
    origins: dict[int, dict[tuple[str, int | None], tuple[int | None, ...]]] = field(default_factory=dict)
    referenced: frozenset[str] = frozenset()


class Oracle:
    """Watches the store; `Violation` at the step that breaks an invariant."""

    def __init__(self, store: Store, shared: SharedDatabase | SharedServer | None = None) -> None:
        """Where names are `shared` by something else than a folder, a version is there when its pointer leads to it."""
        self._store = store
        self._shared = shared
        self._observer: WarehouseCatalog | SqlCatalog | RestCatalog = WarehouseCatalog(
            "observer", WAREHOUSE, Observer(store)
        )
        if shared is not None:
            self._observer = shared.catalog("observer", WAREHOUSE, Observer(store))
            shared.moved = self._moved
        self.tables: dict[str, TableHistory] = {}
        self.drops = 0
        self.strays: set[str] = set()
        self.left_behind: frozenset[str] = frozenset()
        self._avro: dict[str, list[dict[str, Any]]] = {}
        store.watcher = self

    # what happens to files

    def created(self, path: str, data: bytes, by: By) -> None:
        if not path.startswith(_ROOT + "/"):
            raise Violation(f"I-5: {path} lies outside of the warehouse")
        match = METADATA.fullmatch(path)
        if match is None or self._shared is not None:
            return
        self._new_version(match.group(1), int(match.group(2)), path, decoded(data), by)
        self.check_current(match.group(1))

    def _moved(self, identifier: TableIdentifier, before: str | None, after: str | None, by: By) -> None:
        """The pointer of a table has moved."""
        location = f"{_ROOT}/{identifier.namespace[0]}/{identifier.name}"
        if after is None:
            left = self.tables.get(location)
            self.left_behind |= frozenset() if left is None else left.referenced
            self.dropped(location, by)
            return
        if isinstance(by[1], Transaction):
            by = by[0], by[1].of(identifier)
        path = path_of(after)
        if path not in self._store.files:
            raise Violation(f"I-4: {by[1]} has {identifier} lead to {path}, which is not there")
        # A table that is made while another of the name goes gets a folder beside that one's.
        if not re.fullmatch(re.escape(location) + r"(-[0-9a-f]{8})?/metadata/[^/]+", path):
            raise Violation(f"I-5: {by[1]} has {identifier} lead to {path}")
        table = self.tables.get(location)
        if before is not None and (table is None or path_of(before) != table.path):
            raise Violation(f"I-3: {by[1]} moved {identifier} from {before}")
        number = 1 if table is None else table.number + 1
        self._new_version(location, number, path, decoded(self._store.files[path]), by)
        self.check_current(location)

    def deleted(self, path: str, by: By) -> None:
        if any(path in table.referenced for table in self.tables.values()):
            raise Violation(f"I-4, I-10: {by[1]} deleted {path}, which is referenced")
        self.strays.discard(path)

    def dropped(self, folder: str, by: By) -> None:
        statement = by[1]
        if not isinstance(statement, Drop):
            raise Violation(f"{statement} dropped {folder}")
        statement.landed += folder in self.tables
        self.drops += 1
        self.tables.pop(folder, None)

    def ended(self, statement: Statement) -> None:
        """A statement has its outcome."""
        if isinstance(statement, Read):
            if statement.outcome == "acknowledged":
                self._check_read(statement)
        elif isinstance(statement, Transaction):
            for part in statement.parts:
                part.outcome, part.error = statement.outcome, statement.error
                self.ended(part)
        elif isinstance(statement, Together):
            for part in statement.parts:
                # What was under way when its process was killed may be in or out.
                if statement.outcome == "killed":
                    part.outcome = "killed"
                self.ended(part)
        elif (
            statement.outcome == "refused"
            and statement.landed
            and not self._is_dropped(statement.landed_in)
            and not self._may_land_again(statement)
        ):
            raise Violation(f"I-2: {statement} was refused ({statement.error}) and has landed")
        elif statement.outcome == "acknowledged" and not self._has_landed_once(statement):
            raise Violation(f"I-1: {statement} was acknowledged and has landed {statement.landed} times")
        if "INTERNAL" in str(getattr(statement.error, "condition", "")):
            raise Violation(f"{statement} ended in {statement.error}")

    def check_current(self, location: str) -> None:
        """The current version that a reader finds is the last of the history."""
        table = self.tables.get(location)
        if table is None:
            return
        identifier = identifier_of(location)
        try:
            found = self._observer.current_metadata_location(identifier)
        except SqlextError as error:
            raise Violation(f"0 unreadable: {location}: {error}") from error
        if path_of(found) != table.path:
            raise Violation(f"I-1, I-3: a reader finds {found}, the history ends in {table.path}")

    # one version after the other

    def _new_version(self, location: str, number: int, path: str, document: Document, by: By) -> None:
        statement = by[1]
        table = self.tables.get(location)
        if table is None:
            if number != 1 or not isinstance(statement, Create):
                raise Violation(f"I-3: {statement} made {path}, where there is no table")
            table = self.tables[location] = TableHistory(location, 0, "", {})
        elif number <= table.number:
            if any(path_of(one["metadata-file"]) == path for one in table.document.get("metadata-log", ())):
                raise Violation(f"I-3: {statement} made {path}, which is there")
            if version_of(table.path) == number:
                raise Violation(f"I-3: {statement} made {path} beside {table.path}")
            if any(version_of(path_of(one["metadata-file"])) == number for one in table.document["metadata-log"]):
                raise Violation(f"I-3: {statement} made {path}, a second version {number}")
            self.strays.add(path)
            return
        elif number != table.number + 1:
            raise Violation(f"I-3: {statement} made {path} after version {table.number}")
        before = table.document
        if before:
            if document["table-uuid"] != before["table-uuid"]:
                raise Violation(f"I-3: {statement} made {path}, which is another table's")
            log = [path_of(entry["metadata-file"]) for entry in document["metadata-log"]]
            if log[-1:] != [table.path]:
                raise Violation(f"I-3: {path} has {log[-1:]} before it in its log, not {table.path}")
        self._check_metadata(table, before, document, statement)
        table.number, table.path, table.document = number, path, document
        is_claim = isinstance(statement, StreamedBatch) and len(document["snapshots"]) == len(before["snapshots"])
        if not is_claim:
            statement.landed, statement.landed_in = statement.landed + 1, document["table-uuid"]
            if statement.landed > 1 and not self._may_land_again(statement):
                raise Violation(f"I-1: {statement} has landed {statement.landed} times, now in {path}")
            if statement.outcome == "refused" and not self._may_land_again(statement):
                raise Violation(f"I-2: {statement} was refused and lands in {path}")
        logged = (path_of(entry["metadata-file"]) for entry in document.get("metadata-log", ()))
        table.referenced = frozenset((path, *logged)).union(*table.files.values())

    def _may_land_again(self, statement: Statement) -> bool:
        """No requirement of a server's protocol speaks of properties, nor of references that are made, so that a proxy
        may repeat what sets them alone."""
        repeats = isinstance(statement, SetProperty | MakeBranch | Consume)
        empties = isinstance(statement, Replace) and not statement.with_row
        return isinstance(self._shared, SharedServer) and (repeats or empties)

    def _check_metadata(self, table: TableHistory, before: Document, after: Document, statement: Statement) -> None:
        known = {one["snapshot-id"] for one in before.get("snapshots", ())}
        now = {one["snapshot-id"]: one for one in after.get("snapshots", ())}
        if not known <= now.keys():
            raise Violation(f"I-1: {statement} lost snapshots {sorted(known - now.keys())}")
        new = [one for id, one in now.items() if id not in known]
        if len(new) > 1 and not isinstance(statement, Together):
            raise Violation(f"{statement} made {len(new)} snapshots")
        if before:
            self._check_unchanged(before, after, statement)
            # A server takes the time of a snapshot, whatever it has done since.
            is_own_time = not isinstance(self._shared, SharedServer)
            if is_own_time and after["last-updated-ms"] < before["last-updated-ms"]:
                raise Violation(f"I-3: {statement} set last-updated-ms back")
        heads = {name: one["snapshot-id"] for name, one in before.get("refs", {}).items()}
        branch = statement.branch() or "main"
        parent = heads.get(branch, heads.get("main"))
        if not before or isinstance(statement, Replace):
            parent = None
        for snapshot, on in zip(new, bases(before, new), strict=True):
            self._check_snapshot(table, on, after, snapshot, parent, statement)
            parent = snapshot["snapshot-id"]
        if new and after["refs"].get(branch, {}).get("snapshot-id") != parent:
            raise Violation(f"{statement}: its snapshot is not the head of {branch}")
        if new and after["format-version"] > 2:
            end = new[-1]["first-row-id"] + new[-1]["added-rows"]
            if after["next-row-id"] != end:
                raise Violation(f"I-3: {statement}: next-row-id is {after['next-row-id']}")
        numbers = [before.get("last-sequence-number", 0), *(one["sequence-number"] for one in new)]
        if after["last-sequence-number"] != max(numbers):
            raise Violation(f"I-3: {statement} gave the sequence number {after['last-sequence-number']}")

    def _check_unchanged(self, before: Document, after: Document, statement: Statement) -> None:
        may = statement.may_change()
        left, right = before.get("properties", {}), after.get("properties", {})
        if "properties" not in may:
            for key in left.keys() | right.keys():
                if left.get(key) != right.get(key) and f"property {key}" not in may:
                    raise Violation(f"{statement} changed the property {key}")
        for name in ("schemas", "current-schema-id", "partition-specs", "last-column-id", "location"):
            if before[name] != after[name] and name not in may:
                raise Violation(f"{statement} changed {name}")
        columns = {one["name"] for schema in before["schemas"] for one in schema["fields"]}
        if not columns <= {one["name"] for schema in after["schemas"] for one in schema["fields"]}:
            raise Violation(f"{statement} lost a column")
        left, right = before.get("refs", {}), after.get("refs", {})
        for name in left.keys() | right.keys():
            if left.get(name) != right.get(name) and name != statement.branch() and f"reference {name}" not in may:
                raise Violation(f"{statement} changed the reference {name}")

    def _check_snapshot(
        self,
        table: TableHistory,
        before: Document,
        after: Document,
        snapshot: Document,
        parent: int | None,
        statement: Statement,
    ) -> None:
        id = snapshot["snapshot-id"]
        if snapshot.get("parent-snapshot-id") != parent:
            raise Violation(f"I-3: {statement}: the parent is {snapshot.get('parent-snapshot-id')}, not {parent}")
        number, last = snapshot["sequence-number"], before.get("last-sequence-number", 0)
        # A server takes a first snapshot with any number, and no requirement speaks of a branch that is not there yet.
        is_first_on_server = parent is None and number <= last and isinstance(self._shared, SharedServer)
        if number != last + 1 and not is_first_on_server:
            raise Violation(f"I-3: {statement}: the sequence number is {number}")
        live = list(self._live_files(snapshot))
        table.files[id] = frozenset(self._paths(table, snapshot))
        table.origins[id] = {one.key: one.origin for one in live}
        known = {} if parent is None else table.origins[parent]
        for key in known.keys() & table.origins[id].keys():
            if known[key] != table.origins[id][key]:
                raise Violation(f"I-3: {statement} gave {key} the numbers {table.origins[id][key]}, not {known[key]}")
        said = snapshot["summary"].get(STATEMENT)
        made: Statement | Snapshotted = statement
        if isinstance(statement, Together):
            made = statement.of(said, sorted(table.files[id] - table.files.get(parent or 0, frozenset())))
            self._check_parts(table, made, snapshot)
        elif (said or statement.name) != statement.name or statement.name in table.statements:
            raise Violation(f"I-1: {statement}: its snapshot is of {said}")
        else:
            table.statements[statement.name] = id
        missing = [path for path in table.files[id] if path not in self._store.files]
        if missing:
            raise Violation(f"I-4: {statement} references {missing[0]}, which is not there")
        vectors = [one.file["referenced_data_file"] for one in live if one.file.get("content_offset") is not None]
        if len(set(vectors)) < len(vectors):
            raise Violation(f"{statement} left two deletion vectors of one data file")
        rows = live_rows(self._store, live)
        expected = made.apply(table.rows[parent] if parent is not None else Counter())
        if rows != +expected:
            raise Violation(f"I-6, I-7: {made} left {shown(rows)} and should have left {shown(+expected)}")
        table.rows[id] = rows
        self._check_changelog(table, snapshot, parent, statement)
        self._check_totals(snapshot, live, statement)
        if after["format-version"] > 2:
            self._check_row_ids(before, after, snapshot, statement)

    def _check_changelog(
        self, table: TableHistory, snapshot: Document, parent: int | None, statement: Statement
    ) -> None:
        changelog = changelog_location(snapshot)
        if changelog is None:
            if isinstance(statement, RecordedChange) and snapshot["summary"]["operation"] != "append":
                raise Violation(f"I-12: {statement} landed without what it changed")
            return
        rows: Rows = Counter() if parent is None else table.rows[parent].copy()
        for path in self._listed(changelog):
            for row_id, text, kind in CHANGES[f"file://{path}"] if path.endswith(".parquet") else ():
                rows[row_id, text] += 1 if kind == "+I" else -1
        if {row: count for row, count in rows.items() if count} != table.rows[snapshot["snapshot-id"]]:
            raise Violation(f"I-12: the changelog of {statement} leads to {shown(rows)}")

    def _check_parts(self, table: TableHistory, made: Snapshotted, snapshot: Document) -> None:
        """The parts of a group that a snapshot holds have not landed before, nor been refused."""
        if not made.parts:
            raise Violation(f"{made.group} made a snapshot of none of its parts: {snapshot['summary']}")
        for part in made.parts:
            if part.name in table.statements:
                raise Violation(f"I-1: {part} has landed twice")
            if part.outcome == "refused":
                raise Violation(f"I-2: {part} was refused and lands in {table.location}")
            table.statements[part.name] = snapshot["snapshot-id"]
            part.landed, part.landed_in = part.landed + 1, table.document.get("table-uuid")

    def _check_totals(self, snapshot: Document, live: list[LiveFile], statement: Statement) -> None:
        data = [one.file for one in live if one.file["content"] == DATA]
        deletes = [one.file for one in live if one.file["content"] != DATA]
        found = {
            "total-data-files": len(data),
            "total-delete-files": len(deletes),
            "total-records": sum(one["record_count"] for one in data),
            "total-position-deletes": record_count(deletes, POSITION_DELETE),
            "total-equality-deletes": record_count(deletes, EQUALITY_DELETE),
        }
        for name, number in found.items():
            if int(snapshot["summary"].get(name, -1)) != number:
                raise Violation(f"I-9: {statement}: {name} is {snapshot['summary'].get(name)}, and not {number}")

    def _check_row_ids(self, before: Document, after: Document, snapshot: Document, statement: Statement) -> None:
        first = before.get("next-row-id", 0) if before.get("format-version", 3) > 2 else 0
        if snapshot.get("first-row-id") != first:
            raise Violation(f"I-3: {statement}: its first row id is {snapshot.get('first-row-id')}, and not {first}")
        for manifest in self._records(snapshot["manifest-list"]):
            start, count = manifest["first_row_id"], manifest["added_rows_count"] + manifest["existing_rows_count"]
            is_new = manifest["content"] == DATA and manifest["added_snapshot_id"] == snapshot["snapshot-id"]
            live = [one for one in self._records(manifest["manifest_path"]) if one["status"] != GONE]
            gives_ids = is_new and any(one["data_file"]["first_row_id"] is None for one in live)
            if gives_ids and (start is None or start < first or start + count > first + snapshot["added-rows"]):
                raise Violation(f"I-3: {statement}: rows have the ids {start}, … beside those from {first} on")

    # files

    def _paths(self, table: TableHistory, snapshot: Document) -> Iterator[str]:
        yield from self._listed(snapshot["manifest-list"])
        changelog = changelog_location(snapshot)
        if changelog is not None:
            yield from self._listed(changelog)

    def _listed(self, manifest_list: str) -> Iterator[str]:
        yield path_of(manifest_list)
        for manifest in self._records(manifest_list):
            yield path_of(manifest["manifest_path"])
            for entry in self._records(manifest["manifest_path"]):
                if entry["status"] != GONE:
                    yield path_of(entry["data_file"]["file_path"])

    def _live_files(self, snapshot: Document) -> Iterator[LiveFile]:
        for manifest in self._records(snapshot["manifest-list"]):
            if manifest["sequence_number"] > snapshot["sequence-number"]:
                raise Violation(f"I-3: a manifest of {snapshot['snapshot-id']} has the sequence number of another")
            yield from live_files(manifest, self._records(manifest["manifest_path"]))

    def _records(self, location: str) -> list[dict[str, Any]]:
        path = path_of(location)
        if path not in self._avro:
            data = self._store.files.get(path)
            if data is None:
                raise Violation(f"I-4: {path} is referenced and not there")
            self._avro[path] = list(fastavro.reader(io.BytesIO(data)))
        return self._avro[path]

    # statements

    def _check_read(self, statement: Read) -> None:
        location = f"{_ROOT}/{statement.table.namespace[0]}/{statement.table.name}"
        table = self.tables.get(location)
        if table is None or self.drops:
            return  # what was read may have been another table of the name
        if statement.snapshot_id is None:
            expected: Rows | None = Counter()
        else:
            expected = table.rows.get(statement.snapshot_id)
        if statement.found != expected:
            found = Counter() if statement.found is None else statement.found
            raise Violation(f"I-8: {statement} read {shown(found)} of snapshot {statement.snapshot_id}")

    def _is_dropped(self, table_uuid: str | None) -> bool:
        return table_uuid is not None and all(one.document["table-uuid"] != table_uuid for one in self.tables.values())

    def _has_landed_once(self, statement: Statement) -> bool:
        is_repeated = statement.landed > 1 and self._may_land_again(statement)
        return statement.landed == 1 or is_repeated or self._had_nothing_to_do(statement)

    def _had_nothing_to_do(self, statement: Statement) -> bool:
        """Whether a statement need not have made a version: it found what it wants, or nothing to change.

        Of two who make the same branch at the same time, or replace the table by nothing, and one of them without an
        answer, both may be told that it is there: the version does not tell whose it is.
        """
        empties = isinstance(statement, Replace) and not statement.with_row
        rewrites = isinstance(statement, Compact | Convert | RewriteOfManifests)
        idle = rewrites or isinstance(statement, SetProperty | Drop | MakeBranch | Consume)
        return statement.landed == 0 and (idle or empties)
