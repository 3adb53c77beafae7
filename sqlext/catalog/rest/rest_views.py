"""Views behind a REST server.

The protocol lets a server replace any current version of a view. A conflict is found only by a check of the version
just before: of two simultaneous changes of one view the last wins.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.catalog.rest.client import NoAnswer, NotAllowed, Refusal, RestClient, names_in, table_path, understanding
from sqlext.catalog.rest.lost_answer import looked_for
from sqlext.catalog.view_catalog import LoadedView
from sqlext.errors import CorruptionError, NotFoundError, SqlextError
from sqlext.spec.metadata.view_metadata import ViewMetadata, decode_view_metadata, encode_view_metadata

_ADDED_LAST = -1


class RestViews:
    """The views of one REST catalog; `location` gives the default location of a name."""

    def __init__(self, names: CatalogNames, client: RestClient, location: Callable[[TableIdentifier], str]) -> None:
        self._names = names
        self._client = client
        self._location = location

    def load_view(self, identifier: TableIdentifier) -> LoadedView:
        try:
            with self._translated(identifier):
                return self._loaded(identifier, self._client.ask("GET", self._path(identifier)))
        except NotFoundError:
            if self._is_table(identifier):
                raise self._names.is_table(identifier) from None
            raise

    def view_exists(self, identifier: TableIdentifier) -> bool:
        try:
            self._client.ask("GET", self._path(identifier))
        except Refusal:
            # It does not exist, or the server has no views.
            return False
        except NoAnswer as error:
            raise self._names.no_answer(self._names.table(identifier), error) from None
        return True

    def list_views(self, namespace: Namespace) -> tuple[TableIdentifier, ...]:
        path = f"namespaces/{self._client.namespace_path(namespace)}/views"
        try:
            return names_in(namespace, self._client.pages(path, "identifiers"))
        except Refusal as refusal:
            if refusal.status != 404:
                return ()
            raise self._names.namespace_not_found(namespace) from None
        except NoAnswer as error:
            raise self._names.no_answer(self._names.namespace(namespace), error) from None

    def default_view_location(self, identifier: TableIdentifier) -> str:
        return self._location(identifier)

    def commit_view(self, identifier: TableIdentifier, base: LoadedView | None, updated: ViewMetadata) -> LoadedView:
        try:
            return self._loaded(
                identifier,
                self._create(identifier, updated) if base is None else self._replace(identifier, base, updated),
            )
        except (Refusal, NotAllowed, NoAnswer, CorruptionError) as error:
            # The request may have been delivered twice.
            with suppress(SqlextError):
                there = self.load_view(identifier)
                if there.metadata.is_commit_of(updated):
                    return there
            raise self._not_made(identifier, base, error) from None

    def _not_made(self, identifier: TableIdentifier, base: LoadedView | None, error: Exception) -> Exception:
        if isinstance(error, NotAllowed):
            return error
        if not isinstance(error, Refusal):
            return self._names.unknown(identifier, error)
        if error.status == 404:
            return self._names.not_found(identifier)
        if error.status != 409:
            return self._names.failure(error.message)
        return self._names.taken(identifier) if base is None else self._names.conflict(identifier, error.message)

    def replace_damaged(self, identifier: TableIdentifier, damaged: str, metadata: ViewMetadata) -> LoadedView:
        raise self._names.unsupported(
            f"Repairing the metadata of {self._names.table(identifier)}",
            f"the server alone writes metadata files, and {damaged} is its current one",
            "Restore the file where the server has it.",
        )

    def drop_view(self, identifier: TableIdentifier) -> bool:
        with self._translated(identifier):
            is_there = self._client.exists(self._path(identifier))
        if not is_there:
            if self._is_table(identifier):
                raise self._names.is_table(identifier)
            return False
        with self._translated(identifier), looked_for(self._names, identifier, lambda: self._is_gone(identifier)):
            self._client.tell("DELETE", self._path(identifier))
        return True

    def _is_gone(self, identifier: TableIdentifier) -> bool:
        return not self._client.exists(self._path(identifier))

    def _create(self, identifier: TableIdentifier, updated: ViewMetadata) -> dict[str, Any]:
        if self._is_table(identifier):
            raise self._names.taken(identifier)
        whole = json.loads(encode_view_metadata(updated))
        body = {
            "name": identifier.name,
            "location": updated.location,
            "schema": _current(whole["schemas"], "schema-id", updated.version().schema_id),
            "view-version": _current(whole["versions"], "version-id", updated.current_version_id),
            "properties": dict(updated.properties),
        }
        return self._client.ask("POST", f"namespaces/{self._client.namespace_path(identifier.namespace)}/views", body)

    def _replace(self, identifier: TableIdentifier, base: LoadedView, updated: ViewMetadata) -> dict[str, Any]:
        current = self.load_view(identifier)
        if current.metadata_location != base.metadata_location:
            reason = "another writer has changed the view"
            raise self._names.conflict(identifier, reason)
        whole = json.loads(encode_view_metadata(updated))
        known = {version.version_id for version in base.metadata.versions}
        updates: list[dict[str, Any]] = []
        if updated.current_version_id not in known:
            version = _current(whole["versions"], "version-id", updated.current_version_id)
            schema_ids = {schema.schema_id for schema in base.metadata.schemas}
            if updated.version().schema_id not in schema_ids:
                schema = _current(whole["schemas"], "schema-id", updated.version().schema_id)
                updates.append({"action": "add-schema", "schema": schema})
                version = {**version, "schema-id": _ADDED_LAST}
            updates.append({"action": "add-view-version", "view-version": version})
            updates.append({"action": "set-current-view-version", "view-version-id": _ADDED_LAST})
        gone = sorted(base.metadata.properties.keys() - updated.properties.keys())
        if gone:
            updates.append({"action": "remove-properties", "removals": gone})
        changed = {k: v for k, v in updated.properties.items() if base.metadata.properties.get(k) != v}
        if changed:
            updates.append({"action": "set-properties", "updates": changed})
        body = {
            "identifier": {"namespace": list(identifier.namespace), "name": identifier.name},
            "requirements": [{"type": "assert-view-uuid", "uuid": base.metadata.view_uuid}],
            "updates": updates,
        }
        return self._client.ask("POST", self._path(identifier), body)

    def _loaded(self, identifier: TableIdentifier, answer: dict[str, Any]) -> LoadedView:
        with understanding():
            location = str(answer.get("metadata-location") or "")
            data = json.dumps(answer["metadata"]).encode("utf-8")
        return LoadedView(identifier, decode_view_metadata(data, location or str(identifier)), location)

    def _is_table(self, identifier: TableIdentifier) -> bool:
        with self._translated(identifier):
            return self._client.exists(table_path(self._client, identifier.namespace, identifier.name))

    @contextmanager
    def _translated(self, identifier: TableIdentifier) -> Iterator[None]:
        try:
            yield
        except Refusal as refusal:
            if refusal.status == 404:
                raise self._names.not_found(identifier) from None
            raise self._names.failure(refusal.message) from None
        except NoAnswer as error:
            raise self._names.no_answer(self._names.table(identifier), error) from None

    def _path(self, identifier: TableIdentifier) -> str:
        return table_path(self._client, identifier.namespace, identifier.name, "views")


def _current(entries: list[dict[str, Any]], field: str, id: int) -> dict[str, Any]:
    return next(one for one in entries if one[field] == id)
