"""A REST catalog server among the processes of a simulation: the model of one, and faults of requests and answers.

A request is one step: the server takes one after the other. Between it and a process there is a proxy, which may
deliver a request twice, or late, or bring another answer than the server's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from catalog.rest_model import Kept, Name, RestModel
from catalog.rest_updates import Json
from simulator.faults import Killed
from simulator.store import Store
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.rest.client import NoAnswer, RestClient
from sqlext.catalog.rest.rest_catalog import RestCatalog
from sqlext.storage.file_io import FileStatus

if TYPE_CHECKING:
    from simulator.world import Process

CHANGE = "FP15-20,23 request that changes"
QUERY = "FP27-29 request that asks"
POINTS = (CHANGE, QUERY)
OF_CHANGES = (
    "killed before",
    "killed after",
    "failed",
    "busy",
    "too many",
    "not allowed",
    "reply lost",
    "failed after",
    "refused after",
    "no reply",
    "hung",
    "delivered twice",
    "delivered twice",
    "delivered late",
    "delivered late",
    "garbled",
    "garbled",
    "half applied",
)
OF_QUERIES = ("killed before", "failed", "too many", "no reply", "garbled", "hung")

Moved = Callable[[TableIdentifier, str | None, str | None, Any], None]


class SharedServer:
    """The server, and who is told when a pointer has moved."""

    def __init__(self, store: Store, warehouse: str, clock: Callable[[], int], seed: int) -> None:
        self.moved: Moved = lambda *_: None
        self._io = _ServerIO(store)
        self._model = RestModel(warehouse, self._io, clock, random.Random(f"server {seed}"), moved=self._told)  # type: ignore[arg-type]

    def close(self) -> None:
        """Nothing is left of it."""

    def catalog(self, name: str, warehouse: str, io: Any) -> RestCatalog:
        """A catalog that nothing befalls."""
        return RestCatalog(name, _Client(name, self), io)

    def catalog_of(self, process: Process, warehouse: str) -> RestCatalog:
        return RestCatalog("lake", _FaultyClient(self, process), process.io)  # type: ignore[arg-type]

    def answer(self, method: str, path: str, given: Mapping[str, Any], by: Any = None) -> tuple[int, Json]:
        """Does what is asked for."""
        # Who is told of one table's change looks at the server, in the middle of a commit of several.
        before, self._io.by = self._io.by, by
        try:
            return self._model.answer(method, urlsplit(path).path, given.get("params") or {}, given.get("json"))
        finally:
            self._io.by = before

    def _told(self, name: Name, before: Kept | None, after: Kept | None) -> None:
        then, now = (None if one is None else one.location for one in (before, after))
        self.moved(TableIdentifier(*name), then, now, self._io.by)


class _Client(RestClient):
    """Requests without a network."""

    def __init__(self, name: str, server: SharedServer) -> None:
        self._server = server
        super().__init__(name, {"uri": "http://server"})

    def _transported(self, method: str, path: str, **given: Any) -> Any:
        return self._response(self._server.answer(method, path, given))

    def _response(self, answer: tuple[int, Json]) -> httpx.Response:
        status, said = answer
        return httpx.Response(status) if status == 204 else httpx.Response(status, json=said)


class _FaultyClient(_Client):
    """The requests of one process."""

    def __init__(self, server: SharedServer, process: Process) -> None:
        self._process: Process | None = None
        super().__init__("lake", server)
        # The configuration was asked for before anything can happen.
        self._process = process
        self._sleep = process.sleep

    def _transported(self, method: str, path: str, **given: Any) -> Any:
        if self._process is None:
            return super()._transported(method, path, **given)
        # A table that is staged is the server's answer to a question.
        is_query = method in ("GET", "HEAD") or "stage-create" in (given.get("json") or {})
        what = self._process.befallen(QUERY if is_query else CHANGE)
        if what == "busy" and method == "POST":
            return self._response((409, {"error": {"type": "CommitFailedException", "message": "simulated"}}))
        if what == "too many":
            return self._response((429, {"error": {"type": "SlowDown", "message": "simulated"}}))
        if what == "not allowed":
            return self._response((403, {"error": {"type": "ForbiddenException", "message": "simulated"}}))
        if what in ("failed", "busy"):
            return self._response((503, {"error": {"type": "ServiceUnavailable", "message": "simulated"}}))
        if what == "no reply":
            return self._lost()
        by = (self._process, self._process.statement)
        if what == "delivered late":
            self._process.world.later(lambda: self._server.answer(method, path, given, by=by), self._process)
            return self._lost()
        if what == "half applied":
            given = dict(_first_half(given))
        answer = self._server.answer(method, path, given, by)
        if what == "delivered twice":
            answer = self._server.answer(method, path, given, by)
        if what == "reply lost":
            return self._lost()
        if what in ("half applied", "refused after"):
            status = self._process.rng.choice((400, 403, 409))
            return self._response((status, {"error": {"type": "ValidationException", "message": "simulated"}}))
        if what == "garbled":
            return self._garbled()
        if what == "failed after":
            return self._response((500, {"error": {"type": "RuntimeException", "message": "simulated"}}))
        if what == "killed after":
            self._process.killed = True
            raise Killed
        return self._response(answer)

    def _lost(self) -> Any:
        raise NoAnswer("simulated: the connection was closed")

    def _garbled(self) -> httpx.Response:
        """A success, and nothing that one could read."""
        assert self._process is not None
        garbage = (b"{}", b"<html>welcome</html>", b'{"metadata": {}}', b"[" * 5_000, b"[]", None)
        said = self._process.rng.choice(garbage)
        if said is None:
            raise NoAnswer("simulated: the answer is cut short, and cannot be unpacked")
        return httpx.Response(200, content=said)


def _first_half(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """A commit of several tables without the last one of them; of any other request, all."""
    body = given.get("json") or {}
    changes = body.get("table-changes")
    return given if changes is None else {**given, "json": {**body, "table-changes": changes[:-1]}}


class _ServerIO:
    """The files of the server; `by` is for whom it writes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.by: Any = None

    def create(self, location: str, data: bytes) -> None:
        self._store.create(location, data, folder=self._store.folder_for(location, make_folders=True), by=self.by)

    def read(self, location: str) -> bytes:
        return self._store.read(location)

    def delete(self, location: str) -> None:
        self._store.delete(location, by=self.by)

    def list(self, prefix: str) -> list[FileStatus]:
        return list(self._store.list(prefix))
