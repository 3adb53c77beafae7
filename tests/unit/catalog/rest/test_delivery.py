"""What a proxy does to requests and answers leaves tables that can be read, with each change in them once or not at
all: each way of delivery, by each kind of change."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from catalog.made_tables import DB, OTHER, VIEW, create, land, view_at
from catalog.rest_door import Answer, RestDoor
from catalog.rest_model_server import RestModelServer
from small_tables import ORDERS, UNPARTITIONED, Writer, data_file, rows_of
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.commit.actions.table_creation import ReplaceTable
from sqlext.errors import CommitStateUnknown, SqlextError, UnsupportedError
from sqlext.spec.sort_order import UNSORTED

CHANGING = ("POST", "DELETE")
CUT_OFF = (0, b"")


@pytest.fixture
def door(tmp_path: Path) -> Iterator[RestDoor]:
    server = RestModelServer(tmp_path)
    door = RestDoor(server.settings()["uri"])
    yield door
    door.stop()
    server.stop()


@pytest.fixture
def catalog(door: RestDoor) -> Any:
    catalog = open_catalog("lake", {"type": "rest", "uri": door.uri})
    catalog.create_namespace(DB, {})
    create(catalog, properties={"commit.status-check.min-wait-ms": "1"})
    land(
        catalog, AppendFiles((data_file(catalog.load_table(ORDERS).metadata, [1]),)), ORDERS, catalog.load_table(ORDERS)
    )
    create(catalog, OTHER)
    return catalog


@dataclass
class Proxy:
    """Between a catalog and its server: does `what` to the first request that changes something."""

    door: RestDoor
    what: str
    meanwhile: Callable[[], object] = lambda: None
    seen: int = 0
    held: list[tuple[Any, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.door.before = self.before

    def before(self, method: str, path: str, body: bytes, headers: Any) -> Answer | None:
        if method not in CHANGING or b"stage-create" in body:
            return None
        self.seen += 1
        if self.seen > 1:
            self.deliver_held()
            return None
        request = method, path, body, headers
        if self.what == "twice":
            self.door.passed_on(*request)
            return None
        if self.what == "late":
            self.held.append(request)
            self.meanwhile()
            return 504, b""
        if self.what == "lost":
            return CUT_OFF
        if self.what in NOT_SENT:
            return NOT_SENT[self.what]
        if self.what in GARBAGE:
            self.door.passed_on(*request)
            return GARBAGE[self.what]
        if self.what.startswith("half"):
            self.door.passed_on(method, path, _first_half(body), headers)
            return int(self.what.partition(" ")[2]), b'{"error": {"type": "ValidationException", "message": "no"}}'
        if self.what == "busy":
            return 429, b"", {"Retry-After": "0"}
        raise AssertionError(self.what)

    def deliver_held(self) -> None:
        while self.held:
            self.door.passed_on(*self.held.pop())


def _first_half(body: bytes) -> bytes:
    told = json.loads(body) if body else {}
    if "table-changes" in told:
        told["table-changes"] = told["table-changes"][:-1]
    return json.dumps(told).encode() if body else body


GARBAGE: dict[str, Answer] = {
    "{}": (200, b"{}"),
    "page": (200, b"<html>welcome</html>"),
    "list": (200, b"[]"),
    "empty metadata": (200, b'{"metadata": {}}'),
    "deep": (200, b'{"metadata": ' + b"[" * 5_000),
    "cut short": (200, gzip.compress(b'{"metadata": {}}')[:10], {"Content-Encoding": "gzip"}),
    "cut off": CUT_OFF,
    "timeout": (504, b""),
    "redirect": (307, b"", {"Location": "http://elsewhere/"}),
    "redirect after a refusal": (403, b"<html>log in</html>"),
}
# A success of a request that the server has not seen, or has refused.
NOT_SENT = {f"not sent, {name}": GARBAGE[name] for name in ("{}", "page", "empty metadata")}
WAYS = ("twice", "late", "lost", "busy", "half 400", "half 403", "half 409", *GARBAGE, *NOT_SENT)


def append(catalog: Any) -> None:
    writer(catalog).append(2)


def replace_table(catalog: Any) -> None:
    table = catalog.load_table(ORDERS)
    rows = AppendFiles((data_file(table.metadata, [1, 2]),))
    metadata = table.metadata
    action = ReplaceTable(metadata.schema(), UNPARTITIONED, UNSORTED, dict(metadata.properties), 2, "", rows)
    writer(catalog).commit(action, base=table)


def transaction(catalog: Any) -> None:
    opened = OpenTransaction("transaction", lambda *_: None, checks=lambda: range(3))
    inside = opened.catalog(catalog)
    for identifier, id in ((ORDERS, 2), (OTHER, 5)):
        table = inside.load_table(identifier)
        land(inside, AppendFiles((data_file(table.metadata, [id]),)), identifier, table)
    opened.commit()


def writer(catalog: Any) -> Writer:
    return Writer(catalog, seed=17)


def ids(catalog: Any, identifier: TableIdentifier = ORDERS) -> list[int]:
    return sorted(row["id"] for row in rows_of(catalog.load_table(identifier)))


ROWS = {"append": append, "replace": replace_table, "transaction": transaction}
MEANWHILE: dict[str, Any] = {
    "nothing": None,
    "property": ChangeProperties({"a": "1"}),
    "tag": CreateReference("g", "tag"),
}


@pytest.mark.parametrize("change", ROWS)
@pytest.mark.parametrize(
    ("what", "meanwhile"), [*((what, "nothing") for what in WAYS), ("late", "property"), ("late", "tag")]
)
def test_rows_land_once_or_nobody_knows_and_no_file_goes(
    catalog: Any, door: RestDoor, what: str, change: str, meanwhile: str
) -> None:
    """`late` lands when the request is sent again, or at the very end."""
    other = open_catalog("other", {"type": "rest", "uri": door._uri})
    action = MEANWHILE[meanwhile]
    proxy = Proxy(door, what, lambda: action and land(other, action, ORDERS, other.load_table(ORDERS)))
    outcome: SqlextError | None = None
    try:
        ROWS[change](catalog)
    except SqlextError as error:
        outcome = error
    assert proxy.seen
    proxy.deliver_held()
    found = ids(other), ids(other, OTHER)
    before, after = ([1], []), ([1, 2], [5] if change == "transaction" else [])
    if outcome is None:
        assert found == after
    elif isinstance(outcome, CommitStateUnknown):
        assert found in (before, after, ([1, 2], []), ([1], [5]))
    else:
        assert found == before
    # What was delivered and is seen settles the commit.
    seen = ("twice", "busy", "{}", "page", "timeout", "cut off", "cut short", "deep", "redirect")
    assert (outcome is None) == (found == after) if what in seen else True


@pytest.mark.parametrize("order", [(ORDERS, OTHER), (OTHER, ORDERS)])
@pytest.mark.parametrize("answer", ["half 400", "half 403", "half 409"])
def test_what_a_server_has_begun_is_finished(
    catalog: Any, door: RestDoor, answer: str, order: tuple[TableIdentifier, TableIdentifier]
) -> None:
    """The rest of a commit that was made in part is sent once more."""
    opened = OpenTransaction("transaction", lambda *_: None, checks=lambda: range(3))
    inside = opened.catalog(catalog)
    for identifier in order:
        table = inside.load_table(identifier)
        land(inside, AppendFiles((data_file(table.metadata, [7]),)), identifier, table)
    proxy = Proxy(door, answer)
    opened.commit()
    assert proxy.seen == 2
    assert (ids(catalog), ids(catalog, OTHER)) == ([1, 7], [7])


def test_a_commit_in_part_that_cannot_be_finished_says_what_is_where(catalog: Any, door: RestDoor) -> None:
    opened = OpenTransaction("transaction", lambda *_: None, checks=lambda: range(3))
    inside = opened.catalog(catalog)
    for identifier in (ORDERS, OTHER):
        table = inside.load_table(identifier)
        land(inside, AppendFiles((data_file(table.metadata, [7]),)), identifier, table)
    refusing = Proxy(door, "half 403")

    def refuse_all(method: str, path: str, body: bytes, headers: Any) -> Answer | None:
        if method == "POST" and refusing.seen:
            return 403, b"{}"
        return refusing.before(method, path, body, headers)

    door.before = refuse_all
    with pytest.raises(CommitStateUnknown, match="COMMIT_IN_PART") as raised:
        opened.commit()
    assert (raised.value.parameters["landed"], raised.value.parameters["missing"]) == (
        "lake.db.orders",
        "lake.db.other",
    )
    assert (ids(catalog), ids(catalog, OTHER)) == ([1, 7], [])


def make(catalog: Any) -> None:
    create(catalog, TableIdentifier(DB, "new"))


def is_made(catalog: Any) -> bool:
    return bool(catalog.table_exists(TableIdentifier(DB, "new")))


def rename(catalog: Any) -> None:
    catalog.rename_table(OTHER, TableIdentifier(DB, "new"))


def drop(catalog: Any) -> None:
    assert catalog.drop_table(OTHER, purge=False)


def register(catalog: Any) -> None:
    location = catalog.load_table(OTHER).metadata_location
    catalog.register_table(TableIdentifier(DB, "new"), location)


def set_property(catalog: Any) -> None:
    writer(catalog).commit(ChangeProperties({"x": "1"}), base=catalog.load_table(ORDERS))


def is_set(catalog: Any) -> bool:
    return "x" in catalog.load_table(ORDERS).metadata.properties


def make_view(catalog: Any) -> None:
    catalog.views.commit_view(VIEW, None, view_at(catalog, "the commit's id"))


def is_view(catalog: Any) -> bool:
    return bool(catalog.views.view_exists(VIEW))


DEFINITIONS: dict[str, tuple[Callable[[Any], None], Callable[[Any], bool]]] = {
    "create": (make, is_made),
    "rename": (rename, is_made),
    "register": (register, is_made),
    "drop": (drop, lambda catalog: not catalog.table_exists(OTHER)),
    "property": (set_property, is_set),
    "view": (make_view, is_view),
}


@pytest.mark.parametrize("change", DEFINITIONS)
@pytest.mark.parametrize("what", WAYS)
def test_what_is_said_of_a_definition_is_true(catalog: Any, door: RestDoor, what: str, change: str) -> None:
    run, has_happened = DEFINITIONS[change]
    proxy = Proxy(door, what)
    outcome: SqlextError | None = None
    try:
        run(catalog)
    except SqlextError as error:
        outcome = error
    assert proxy.seen
    if outcome is None:
        assert has_happened(catalog)
    elif not isinstance(outcome, CommitStateUnknown):
        assert not has_happened(catalog), outcome


@pytest.mark.parametrize("what", GARBAGE)
def test_an_answer_to_a_question_that_nobody_can_read_is_one_clear_error(
    catalog: Any, door: RestDoor, what: str
) -> None:
    door.before = lambda method, *request: GARBAGE[what]
    for ask in (
        lambda: catalog.load_table(ORDERS),
        lambda: catalog.list_tables(DB),
        lambda: catalog.list_namespaces(),
        lambda: catalog.load_namespace(DB),
        lambda: catalog.views.load_view(VIEW),
        lambda: catalog.views.list_views(DB),
        lambda: open_catalog("again", {"type": "rest", "uri": door.uri}),
    ):
        # Anything else than one of our errors fails the test; some questions have an answer in an empty object.
        with suppress(SqlextError):
            ask()


def test_a_table_is_made_and_written_in_one_transaction(catalog: Any) -> None:
    new = TableIdentifier(DB, "new")
    opened = OpenTransaction("transaction", lambda *_: None)
    inside: Any = opened.catalog(catalog)
    made = create(inside, new)
    land(inside, AppendFiles((data_file(made.metadata, [3]),)), new, made)
    assert not catalog.table_exists(new)
    opened.commit()
    assert ids(catalog, new) == [3]


@pytest.mark.parametrize("is_made_first", [True, False])
def test_a_table_that_is_made_beside_others_is_refused_at_once(catalog: Any, is_made_first: bool) -> None:
    new = TableIdentifier(DB, "new")
    opened = OpenTransaction("transaction", lambda *_: None)
    inside: Any = opened.catalog(catalog)

    def insert() -> None:
        table = inside.load_table(ORDERS)
        land(inside, AppendFiles((data_file(table.metadata, [3]),)), ORDERS, table)

    steps = [lambda: create(inside, new), insert]
    first, second = steps if is_made_first else steps[::-1]
    first()
    with pytest.raises(UnsupportedError, match="tables that are there"):
        second()
    opened.commit()
    assert catalog.table_exists(new) == is_made_first
    assert ids(catalog) == ([1] if is_made_first else [1, 3])
