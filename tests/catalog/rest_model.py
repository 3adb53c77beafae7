"""A small REST catalog server without a network: what Iceberg's own does of the protocol, one request at a time.

The contract of catalogs holds for it as for the real one, so a simulation may take it in that one's place.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from catalog.rest_updates import Json, Refused, require, updated, view_updated
from sqlext.storage.file_io import FileIO

_SEPARATOR = "\x1f"

Name = tuple[tuple[str, ...], str]
Namespace = tuple[str, ...]


@dataclass
class Kept:
    """A table or a view: its current metadata file, the content of that, and how many there were."""

    location: str
    document: Json
    number: int = 0


@dataclass
class RestModel:
    """`answer` takes one request and is not for several threads at a time. `io` keeps the metadata files; `moved` is
    told of each table that has come, gone or changed."""

    warehouse: str
    io: FileIO
    clock: Callable[[], int]
    rng: random.Random
    namespaces: dict[Namespace, dict[str, str]] = field(default_factory=dict)
    tables: dict[Name, Kept] = field(default_factory=dict)
    views: dict[Name, Kept] = field(default_factory=dict)
    moved: Callable[[Name, Kept | None, Kept | None], None] = lambda *_: None

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Json | None) -> tuple[int, Json]:
        """Status and body. `path` is what follows the server's address, with its parts encoded."""
        try:
            found = self._answer(method, [unquote(part) for part in path.strip("/").split("/")][1:], query, body)
            return (200 if found else 204), found
        except Refused as refused:
            told = {"message": str(refused), "type": refused.kind, "code": refused.status}
            return refused.status, {"error": told}

    def _answer(self, method: str, parts: list[str], query: Mapping[str, str], body: Json | None) -> Json:
        match method, parts:
            case "GET", ["config"]:
                return {"defaults": {}, "overrides": {"warehouse": self.warehouse}, "endpoints": []}
            case "POST", ["tables", "rename"]:
                return self._rename(body or {})
            case "POST", ["transactions", "commit"]:
                return self._commit_tables(body or {})
            case _, ["namespaces", *rest]:
                return self._of_namespaces(method, rest, query, body or {})
        raise Refused(400, "BadRequestException", f"No route for {method} {parts}")

    def _of_namespaces(self, method: str, parts: list[str], query: Mapping[str, str], body: Json) -> Json:
        match method, parts:
            case "GET", []:
                parent = tuple(query["parent"].split(_SEPARATOR)) if query.get("parent") else ()
                if parent:
                    self._require(parent)
                return {"namespaces": [list(one) for one in self.namespaces if one[:-1] == parent]}
            case "POST", []:
                return self._create_namespace(tuple(body["namespace"]), body.get("properties") or {})
        namespace = tuple(parts[0].split(_SEPARATOR))
        self._require(namespace)
        match method, parts[1:]:
            case "GET" | "HEAD", []:
                return {"namespace": list(namespace), "properties": self.namespaces[namespace]}
            case "DELETE", []:
                return self._drop_namespace(namespace)
            case "POST", ["properties"]:
                for name in body["removals"]:
                    self.namespaces[namespace].pop(name, None)
                self.namespaces[namespace] |= body["updates"]
                return {}
            case "POST", ["register"]:
                return self._register((namespace, body["name"]), body["metadata-location"])
            case "GET", [("tables" | "views") as kind]:
                there = self.tables if kind == "tables" else self.views
                return {"identifiers": [{"namespace": list(s), "name": n} for s, n in there if s == namespace]}
            case "POST", ["tables"]:
                return self._staged((namespace, body["name"]))
            case "POST", ["views"]:
                return self._create_view((namespace, body["name"]), body)
            case _, ["tables", name]:
                return self._of_table(method, (namespace, name), query, body)
            case _, ["views", name]:
                return self._of_view(method, (namespace, name), body)
        raise Refused(400, "BadRequestException", f"No route for {method} {parts}")

    # namespaces

    def _require(self, namespace: Namespace) -> None:
        if namespace not in self.namespaces:
            raise Refused(404, "NoSuchNamespaceException", f"Namespace does not exist: {namespace}")

    def _create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> Json:
        if namespace in self.namespaces:
            raise Refused(409, "AlreadyExistsException", f"Namespace already exists: {namespace}")
        self.namespaces[namespace] = dict(properties)
        return {"namespace": list(namespace), "properties": dict(properties)}

    def _drop_namespace(self, namespace: Namespace) -> Json:
        held = [*self.tables, *self.views]
        if any(space == namespace for space, _ in held) or any(one[:-1] == namespace for one in self.namespaces):
            raise Refused(409, "NamespaceNotEmptyException", f"Namespace is not empty: {namespace}")
        del self.namespaces[namespace]
        return {}

    # tables

    def _of_table(self, method: str, name: Name, query: Mapping[str, str], body: Json) -> Json:
        if method == "POST":
            return self._told(self._landed({name: self._next(name, body)})[0])
        if name not in self.tables:
            raise Refused(404, "NoSuchTableException", f"Table does not exist: {name}")
        kept = self.tables[name]
        if method == "DELETE":
            self._move(name, None)
            if query.get("purgeRequested") == "true":
                for file in list(self.io.list(kept.document["location"])):
                    self.io.delete(file.path)
            return {}
        return self._told(kept)

    def _told(self, kept: Kept) -> Json:
        return {"metadata-location": kept.location, "metadata": kept.document, "config": {}}

    def _staged(self, name: Name) -> Json:
        self._require_free(name)
        return {"metadata": {"location": "/".join((self.warehouse, *name[0], name[1]))}}

    def _next(self, name: Name, body: Json) -> Json:
        kept = self.tables.get(name)
        document = None if kept is None else kept.document
        if document is None:
            self._require(name[0])
            if name in self.views:
                raise Refused(409, "AlreadyExistsException", f"View with same name already exists: {name}")
        require(document, body["requirements"])
        return updated(document, body["updates"], self.clock())

    def _commit_tables(self, body: Json) -> Json:
        changes = {
            (tuple(one["identifier"]["namespace"]), one["identifier"]["name"]): one for one in body["table-changes"]
        }
        made = {name: self._next(name, one) for name, one in changes.items()}
        self._landed({name: document for name, document in made.items() if changes[name]["updates"]})
        return {}

    def _landed(self, made: Mapping[Name, Json]) -> list[Kept]:
        """Writes the files first, as they may not come to be."""
        gone: list[str] = []
        new = {name: self._written(self.tables.get(name), document, gone) for name, document in made.items()}
        for name, kept in new.items():
            self._move(name, kept)
        for location in gone:
            self.io.delete(location)
        return list(new.values())

    def _written(self, before: Kept | None, document: Json, gone: list[str]) -> Kept:
        """With the files to delete once it has landed among `gone`."""
        number = 0 if before is None else before.number + 1
        location = f"{document['location']}/metadata/{number:05d}-{self._uuid()}.metadata.json"
        if before is not None:
            entry = {"timestamp-ms": before.document["last-updated-ms"], "metadata-file": before.location}
            most = int(document["properties"].get("write.metadata.previous-versions-max", "100"))
            log = [*document["metadata-log"], entry]
            document["metadata-log"] = log[-most:]
            if document["properties"].get("write.metadata.delete-after-commit.enabled") == "true":
                gone += [one["metadata-file"] for one in log[:-most]]
        self.io.create(location, json.dumps(document).encode())
        return Kept(location, document, number)

    def _move(self, name: Name, kept: Kept | None) -> None:
        before = self.tables.pop(name, None)
        if kept is not None:
            self.tables[name] = kept
        self.moved(name, before, kept)

    def _register(self, name: Name, location: str) -> Json:
        self._require_free(name)
        self._move(name, Kept(location, json.loads(self.io.read(location))))
        return self._told(self.tables[name])

    def _require_free(self, name: Name) -> None:
        self._require(name[0])
        if name in self.tables or name in self.views:
            raise Refused(409, "AlreadyExistsException", f"Table or view already exists: {name}")

    def _rename(self, body: Json) -> Json:
        source, to = ((tuple(body[end]["namespace"]), body[end]["name"]) for end in ("source", "destination"))
        if source not in self.tables:
            raise Refused(404, "NoSuchTableException", f"Table does not exist: {source}")
        self._require_free(to)
        kept = self.tables[source]
        self._move(source, None)
        self._move(to, kept)
        return {}

    # views

    def _of_view(self, method: str, name: Name, body: Json) -> Json:
        if name not in self.views:
            raise Refused(404, "NoSuchViewException", f"View does not exist: {name}")
        kept = self.views[name]
        if method == "DELETE":
            del self.views[name]
            return {}
        if method == "POST":
            kept = self.views[name] = self._view(view_updated(kept.document, body["updates"]))
        return self._told(kept)

    def _create_view(self, name: Name, body: Json) -> Json:
        self._require_free(name)
        version = body["view-version"]
        document = {
            "view-uuid": self._uuid(),
            "format-version": 1,
            "location": body["location"],
            "schemas": [body["schema"]],
            "current-version-id": version["version-id"],
            "versions": [version],
            "version-log": [{"timestamp-ms": version["timestamp-ms"], "version-id": version["version-id"]}],
            "properties": body.get("properties") or {},
        }
        self.views[name] = self._view(document)
        return self._told(self.views[name])

    def _view(self, document: Json) -> Kept:
        return Kept(f"{document['location']}/metadata/{self._uuid()}.metadata.json", document)

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))
