"""A catalog behind a REST server: requests, and commits as updates that the server applies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sqlext.catalog.catalog import LoadedTable, TableCommit
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.decoded_metadata import DecodedMetadata
from sqlext.catalog.dropped_table import DroppedTable
from sqlext.catalog.identifier import Namespace, TableIdentifier, check_namespace, quoted
from sqlext.catalog.owned_files import owned_by
from sqlext.catalog.rest.client import (
    NoAnswer,
    NotAllowed,
    Refusal,
    RestClient,
    names_in,
    object_in,
    table_path,
    understanding,
)
from sqlext.catalog.rest.lost_answer import looked_for
from sqlext.catalog.rest.metadata_difference import may_still_hold, requirements, updates
from sqlext.catalog.rest.rest_views import RestViews
from sqlext.catalog.sent_changes import shows
from sqlext.catalog.view_catalog import ViewCatalog
from sqlext.errors import (
    AlreadyExistsError,
    AnalysisError,
    CommitStateUnknown,
    CorruptionError,
    NotFoundError,
    SqlextError,
    StorageError,
)
from sqlext.properties import GC_ENABLED
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.storage.allowed_locations import AllowedLocations
from sqlext.storage.location import join
from sqlext.storage.vended_io import VendedIO

_UNREADABLE = ""
_NO_COLUMNS = {"type": "struct", "schema-id": 0, "fields": []}
_MULTI_TABLE = "POST /v1/{prefix}/transactions/commit"
_CREDENTIALS = "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"


class RestCatalog:
    """The tables and views of one server, which validates names beyond the rules of all catalogs."""

    def __init__(
        self,
        name: str,
        client: RestClient,
        io: VendedIO,
        learned: Callable[[str, Mapping[str, str]], None] = lambda folder, options: None,
        allowed: AllowedLocations | None = None,
    ) -> None:
        """`learned` is called with the folder of each table that the server vends credentials for, and these.

        `allowed`: where files may be deleted; without folders, in the folder that holds the table's.
        """
        self._names = CatalogNames(name)
        self._client = client
        self._io = io
        self._learned = learned
        self._allowed = allowed or AllowedLocations()
        self._decoded = DecodedMetadata()
        self._views = RestViews(self._names, client, self._location_of)

    @property
    def name(self) -> str:
        return self._names.catalog

    @property
    def io(self) -> VendedIO:
        return self._io

    @property
    def views(self) -> ViewCatalog:
        return self._views

    # tables

    def load_table(self, identifier: TableIdentifier) -> LoadedTable:
        try:
            with self._translated(identifier):
                return self._loaded(identifier, self._client.ask_content("GET", self._path(identifier)))
        except NotFoundError:
            if self._views.view_exists(identifier):
                raise self._names.is_view(identifier) from None
            raise

    def current_metadata_location(self, identifier: TableIdentifier) -> str:
        return self.load_table(identifier).metadata_location

    def is_current(self, table: LoadedTable) -> bool:
        """Compares the metadata location; if the server omits it, the metadata."""
        try:
            current = self.load_table(table.identifier)
        except NotFoundError:
            return False
        return current.metadata_location == table.metadata_location if table.metadata_location else current == table

    def load_version(self, current: LoadedTable, location: str) -> LoadedTable:
        """Read from its file: servers return only current versions."""
        return LoadedTable(current.identifier, self._decoded.of(self._io.read(location), location), location)

    @property
    def keeps_timestamps(self) -> bool:
        """False: servers keep the timestamps of new snapshots, but assign their own to other versions."""
        return False

    @property
    def compares_properties(self) -> bool:
        return False

    @property
    def keeps_files_of_clones(self) -> bool:
        """False: the server drops tables, and other clients ask it to."""
        return False

    def table_exists(self, identifier: TableIdentifier) -> bool:
        with self._translated(identifier):
            there = self._client.exists(self._path(identifier))
        return there or self._views.view_exists(identifier)

    def commit(self, identifier: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> LoadedTable:
        if base is None:
            if self._views.view_exists(identifier):
                raise self._names.taken(identifier)
            self._require_namespace(identifier.namespace)
        body = self._change(identifier, base, updated)
        with self._sent(identifier, base):
            table = self._loaded(identifier, self._client.ask_content("POST", self._path(identifier), body))
            if not shows(TableCommit(identifier, base, updated), table.metadata):
                raise NoAnswer("its answer shows the table without the change")
            return table

    def commit_tables(self, changes: Sequence[TableCommit], unchanged: Sequence[LoadedTable] = ()) -> None:
        """Commits changes of several tables, all or none. Raises as `commit`.

        For the server, `unchanged` tables are entries without updates; their properties may change. Raises
        UnsupportedError if the server has no such request.
        """
        if not changes:
            self._require_current(unchanged)
            return
        if len(changes) == 1 and not unchanged:
            self.commit(changes[0].identifier, changes[0].base, changes[0].updated)
            return
        self._require_multi_table()
        for change in changes:
            if change.base is None:
                raise self._not_with_others(change.identifier)
        made = [self._change(one.identifier, one.base, one.updated) for one in changes]
        # First, since the reference server applies the entries one after the other.
        held = [self._change(one.identifier, one, one.metadata) for one in unchanged]
        body = {"table-changes": [*held, *made]}
        with self._sent(changes[0].identifier, changes[0].base):
            self._client.tell("POST", "transactions/commit", body)

    def replace_damaged(self, identifier: TableIdentifier, damaged: str, metadata: TableMetadata) -> LoadedTable:
        raise self._names.unsupported(
            f"Repairing the metadata of {self._names.table(identifier)}",
            f"the server alone writes metadata files, and {damaged} is its current one",
            "Restore the file where the server has it.",
        )

    def may_still_land(self, change: TableCommit, current: LoadedTable) -> bool:
        """Whether the change's requirements could still be met; they do not cover properties and new references."""
        if change.base is None:
            return True
        return may_still_hold(change.base.metadata, change.updated, current.metadata)

    def require_joint(self, changes: Sequence[TableCommit]) -> None:
        if len(changes) < 2:
            return
        self._require_multi_table()
        made = next((change.identifier for change in changes if change.base is None), None)
        if made is not None:
            raise self._not_with_others(made)

    def _require_multi_table(self) -> None:
        if self._client.endpoints and _MULTI_TABLE not in self._client.endpoints:
            raise self._names.unsupported(
                "A commit of several tables", "the server has none", "Commit one after the other."
            )

    def _not_with_others(self, made: TableIdentifier) -> SqlextError:
        return self._names.unsupported(
            f"Making {self._names.table(made)} in a transaction that depends on other tables too",
            "the REST protocol's commit of several tables is one of tables that are there",
            "Make the table before the transaction.",
        )

    def _require_current(self, tables: Sequence[LoadedTable]) -> None:
        for table in tables:
            if self.load_table(table.identifier).metadata_location != table.metadata_location:
                raise self._names.conflict(table.identifier, "it has a newer version")

    def default_table_location(self, identifier: TableIdentifier) -> str:
        """The location that the server gives to a table which is staged and never committed."""
        self._require_namespace(identifier.namespace)
        path = f"namespaces/{self._client.namespace_path(identifier.namespace)}/tables"
        body = {"name": identifier.name, "schema": _NO_COLUMNS, "stage-create": True}
        try:
            staged = self._client.ask("POST", path, body)
            with understanding():
                location = str(staged["metadata"]["location"])
                self._learn(identifier, location, staged)
        except (Refusal, NoAnswer):
            return self._location_of(identifier)
        return location

    def owned_by(self, table: LoadedTable) -> Callable[[str], bool]:
        """In the folders of `allowed-locations`, or else beside the metadata file that the server names: metadata may
        have been written by anybody. This client may not see all tables of the server."""
        beside = table.metadata_location.rpartition("/")[0].removesuffix("/metadata").rpartition("/")[0]
        allowed = self._allowed if self._allowed.own else AllowedLocations((beside,) if beside else ())
        return owned_by(table.metadata, allowed, lambda location: False)

    def remove_empty_folders(self, identifier: TableIdentifier) -> None:
        """No change: staged tables are the server's."""

    def list_tables(self, namespace: Namespace) -> tuple[TableIdentifier, ...]:
        path = f"namespaces/{self._client.namespace_path(namespace)}/tables"
        with self._translated_namespace(namespace):
            return names_in(namespace, self._client.pages(path, "identifiers"))

    def drop_table(self, identifier: TableIdentifier, purge: bool) -> bool:
        """Drops the table; with `purge` the server deletes files. Raises UnsupportedError for a purge if `gc.enabled`
        is false.

        Whatever the response, the drop was made if the table existed and is gone. Raises CommitStateUnknown if it
        exists and there was no response, since it may still be dropped.
        """
        if purge and not self._may_purge(identifier):
            raise self._names.unsupported(
                f"DROP TABLE {self._names.table(identifier)} PURGE",
                f"{GC_ENABLED.name} is false, so other tables may use its files",
                "Leave PURGE out.",
            )
        dropped = self._uuid(identifier)
        if dropped is None:
            if self._views.view_exists(identifier):
                raise self._names.is_view(identifier)
            return False
        asked = {"purgeRequested": "true" if purge else "false"}

        def has_happened() -> bool:
            # Another process may have created a table of that name since.
            there = self._uuid(identifier)
            return there is None or (there != dropped and _UNREADABLE not in (there, dropped))

        with self._translated(identifier), looked_for(self._names, identifier, has_happened):
            self._client.tell("DELETE", self._path(identifier), parameters=asked)
        return True

    def _uuid(self, identifier: TableIdentifier) -> str | None:
        """The table's uuid; `_UNREADABLE` if the server or sqlext cannot read it; None if no table has the name."""
        try:
            return self.load_table(identifier).metadata.table_uuid
        except (NotFoundError, AnalysisError):
            return None
        except (CorruptionError, StorageError):
            with self._translated(identifier):
                return _UNREADABLE if self._client.exists(self._path(identifier)) else None

    def register_table(self, identifier: TableIdentifier, metadata_location: str) -> LoadedTable:
        self._require_namespace(identifier.namespace)
        path = f"namespaces/{self._client.namespace_path(identifier.namespace)}/register"
        body = {"name": identifier.name, "metadata-location": metadata_location}
        if self.table_exists(identifier):
            raise self._names.taken(identifier)
        try:
            with self._sent(identifier, None):
                return self._loaded(identifier, self._client.ask_content("POST", path, body))
        except CommitStateUnknown as unknown:
            with suppress(SqlextError):
                table = self.load_table(identifier)
                log = [entry.metadata_file for entry in table.metadata.metadata_log]
                if metadata_location in (table.metadata_location, *log):
                    return table
            raise (unknown.refusal or unknown) from None

    def undrop_table(self, identifier: TableIdentifier) -> None:
        raise self._names.unsupported(
            f"UNDROP TABLE {self._names.table(identifier)}",
            "the REST protocol has no such request",
            "Ask the server's own tools.",
        )

    def dropped_tables(self, namespace: Namespace) -> tuple[DroppedTable, ...]:
        """Empty: the protocol has no such request."""
        return ()

    def rename_table(self, identifier: TableIdentifier, to: TableIdentifier) -> None:
        self._require_namespace(to.namespace)
        body = {"source": _json(identifier), "destination": _json(to)}
        table_uuid = self.load_table(identifier).metadata.table_uuid

        def has_happened() -> bool:
            return self._uuid(to) == table_uuid

        with self._translated(identifier, taken=to), looked_for(self._names, identifier, has_happened):
            self._client.tell("POST", "tables/rename", body)

    # namespaces

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        check_namespace(namespace)
        with self._translated_namespace(namespace):
            self._client.ask("POST", "namespaces", {"namespace": list(namespace), "properties": dict(properties)})

    def namespace_exists(self, namespace: Namespace) -> bool:
        if not namespace:
            return True
        check_namespace(namespace)
        with self._translated_namespace(namespace):
            return self._client.exists(self._namespace_path(namespace))

    def list_namespaces(self, parent: Namespace = ()) -> tuple[Namespace, ...]:
        asked = {"parent": self._client.joined(parent)} if parent else {}
        with self._translated_namespace(parent):
            found = list(self._client.pages("namespaces", "namespaces", asked))
            with understanding():
                return tuple(sorted({one for one in map(tuple, found) if one[:-1] == parent}))

    def load_namespace(self, namespace: Namespace) -> Mapping[str, str]:
        with self._translated_namespace(namespace):
            answer = self._client.ask("GET", self._namespace_path(namespace))
            with understanding():
                return dict(answer.get("properties") or {})

    def set_namespace_properties(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        self._change_properties(namespace, {"updates": dict(properties), "removals": []})

    def remove_namespace_properties(self, namespace: Namespace, names: frozenset[str]) -> None:
        self._change_properties(namespace, {"updates": {}, "removals": sorted(names)})

    def drop_namespace(self, namespace: Namespace, cascade: bool) -> bool:
        if not self.namespace_exists(namespace):
            return False
        if cascade:
            for child in self.list_namespaces(namespace):
                self.drop_namespace(child, cascade=True)
            for view in self._views.list_views(namespace):
                self._views.drop_view(view)
            for table in self.list_tables(namespace):
                self.drop_table(table, purge=False)
        held = [quoted(*child) for child in self.list_namespaces(namespace)]
        held += [str(one) for one in (*self.list_tables(namespace), *self._views.list_views(namespace))]
        if held:
            raise self._names.namespace_not_empty(namespace, held)
        with self._translated_namespace(namespace):
            self._client.tell("DELETE", self._namespace_path(namespace))
        return True

    def _change_properties(self, namespace: Namespace, body: dict[str, Any]) -> None:
        with self._translated_namespace(namespace):
            self._client.ask("POST", f"{self._namespace_path(namespace)}/properties", body)

    # answers

    def _loaded(self, identifier: TableIdentifier, content: bytes) -> LoadedTable:
        """The table in a response. Raises NoAnswer for one without metadata, CorruptionError for invalid ones."""
        found = self._decoded.of_answer(content, str(identifier))
        answer, metadata = _plainly_read(content, str(identifier)) if found is None else found
        location = str(answer.get("metadata-location") or "")
        with understanding():
            self._learn(identifier, metadata.location, answer)
        return LoadedTable(identifier, metadata, location)

    def _learn(self, identifier: TableIdentifier, location: str, answer: Mapping[str, Any]) -> None:
        """Uses the credentials that a response has for the table's files."""
        for folder, options in _vended(location, answer).items():
            merged = {**self._client.settings, **options}

            def renew(folder: str = folder) -> Mapping[str, str]:
                return {**self._client.settings, **_vended(location, self._renewed(identifier)).get(folder, {})}

            if self._io.learn(folder, merged, renew):
                self._learned(folder, merged)

    def _renewed(self, identifier: TableIdentifier) -> Mapping[str, Any]:
        path = self._path(identifier)
        with self._translated(identifier):
            if _CREDENTIALS in self._client.endpoints:
                return self._client.ask("GET", f"{path}/credentials")
            return self._client.ask("GET", path)

    def _change(self, identifier: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> dict[str, Any]:
        before = None if base is None else base.metadata
        return {
            "identifier": _json(identifier),
            "requirements": requirements(before),
            "updates": updates(before, updated),
        }

    @contextmanager
    def _sent(self, identifier: TableIdentifier, base: LoadedTable | None) -> Iterator[None]:
        """Context of a change: raises CommitStateUnknown for any response but a success, since a proxy may have
        delivered it twice, or the server made it in part; a refusal is kept in the error."""
        try:
            yield
        except (NoAnswer, CorruptionError) as error:
            raise self._names.unknown(identifier, error) from None
        except NotAllowed as denied:
            raise self._names.refused(identifier, denied.parameters["reason"], denied) from None
        except Refusal as refused:
            refusal = self._refusal(identifier, base, refused)
            raise self._names.refused(identifier, refused.message, refusal) from None

    def _refusal(self, identifier: TableIdentifier, base: LoadedTable | None, refused: Refusal) -> SqlextError:
        if refused.status == 404:
            return self._names.not_found(identifier)
        if refused.status != 409:
            return self._names.failure(refused.message)
        return self._names.taken(identifier) if base is None else self._names.conflict(identifier, refused.message)

    @contextmanager
    def _translated(self, identifier: TableIdentifier, taken: TableIdentifier | None = None) -> Iterator[None]:
        """Turns the server's refusals into errors that name the table."""
        name = self._names.table(identifier)
        try:
            yield
        except Refusal as refusal:
            if refusal.status == 404:
                raise self._names.not_found(identifier) from None
            if refusal.status == 409:
                raise self._names.taken(taken or identifier) from None
            raise self._names.failure(refusal.message) from None
        except NoAnswer as error:
            raise self._names.no_answer(name, error) from None

    @contextmanager
    def _translated_namespace(self, namespace: Namespace) -> Iterator[None]:
        name = self._names.namespace(namespace)
        try:
            yield
        except Refusal as refusal:
            if refusal.status == 404:
                raise NotFoundError("SCHEMA_NOT_FOUND", name=name) from None
            if refusal.status == 409 and "NotEmpty" in refusal.kind:
                raise AnalysisError("SCHEMA_NOT_EMPTY", name=name, holds=refusal.message) from None
            if refusal.status == 409:
                raise AlreadyExistsError("SCHEMA_ALREADY_EXISTS", name=name) from None
            raise self._names.failure(refusal.message) from None
        except NoAnswer as error:
            raise self._names.no_answer(name, error) from None

    # names and locations

    def _may_purge(self, identifier: TableIdentifier) -> bool:
        try:
            return GC_ENABLED.of(self.load_table(identifier).metadata.properties)
        except NotFoundError:
            return True

    def _location_of(self, identifier: TableIdentifier) -> str:
        folder = self.load_namespace(identifier.namespace).get("location")
        warehouse = self._client.settings.get("warehouse", "")
        return join(folder or join(warehouse, *identifier.namespace), identifier.name)

    def _require_namespace(self, namespace: Namespace) -> None:
        if not self.namespace_exists(namespace):
            raise self._names.namespace_not_found(namespace)

    def _path(self, identifier: TableIdentifier) -> str:
        return table_path(self._client, identifier.namespace, identifier.name)

    def _namespace_path(self, namespace: Namespace) -> str:
        return f"namespaces/{self._client.namespace_path(namespace)}"


def _json(identifier: TableIdentifier) -> dict[str, Any]:
    return {"namespace": list(identifier.namespace), "name": identifier.name}


def _plainly_read(content: bytes, table: str) -> tuple[Mapping[str, Any], TableMetadata]:
    """A response and the metadata in it, as for one that `DecodedMetadata` does not read."""
    answer = object_in(content)
    with understanding():
        data = json.dumps(answer["metadata"]).encode("utf-8")
    return answer, decode_table_metadata(data, str(answer.get("metadata-location") or table))


def _vended(location: str, answer: Mapping[str, Any]) -> dict[str, Mapping[str, str]]:
    """Settings by folder: of `storage-credentials`, else of the table's `config`."""
    config = answer.get("config") or {}
    by_folder: dict[str, Mapping[str, str]] = {}
    for one in answer.get("storage-credentials") or ():
        prefix, found = str(one.get("prefix", "")), one.get("config") or {}
        folder = prefix.rstrip("/*") if "://" in prefix else location
        by_folder[folder] = {**config, **found}
    if not by_folder and any(name.startswith(("s3.", "client.")) for name in config):
        by_folder[location] = config
    return by_folder
