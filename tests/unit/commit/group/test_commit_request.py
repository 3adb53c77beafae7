"""Changes as another process gets them: the same values, and nothing but values."""

from __future__ import annotations

import json
from decimal import Decimal
from uuid import UUID

import pytest
from pyroaring import BitMap64

from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.action import Action, Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.overwrite_rows import OverwriteRows
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.group.commit_answer import Answer, Landed, NotTaken, decode_answer, encode_answer
from sqlext.commit.group.commit_request import CommitRequest, decode_request, encode_request
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.errors import CommitStateUnknown, Contender, StaleRead
from sqlext.spec.expression import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
    InBucket,
    IsNaN,
    IsNull,
    Not,
    NotIn,
    NotNaN,
    NotNull,
    Or,
    Predicate,
    StartsWith,
)
from sqlext.spec.manifests.content_file import Content, ContentFile

FILE = ContentFile(
    Content.DATA,
    "file:///w/ä b.parquet",
    "PARQUET",
    2,
    (1, "x", None, b"\0\xff", Decimal("1.50"), float("inf"), True, UUID(int=7)),
    3,
    400,
    column_sizes={1: 2},
    value_counts={1: 3},
    null_value_counts={},
    lower_bounds={1: b"\x01"},
    upper_bounds={1: b"\xfe"},
    key_metadata=b"k",
    split_offsets=(4, 8),
    sort_order_id=1,
    first_row_id=0,
)
DELETES = ContentFile(Content.EQUALITY_DELETES, "file:///w/d.parquet", "PARQUET", 0, (), 1, 10, equality_ids=(1, 2))
FILTER: Predicate = And(
    Or(Comparison("<=", 1, Decimal("2.0")), Not(StartsWith(2, "a"))),
    And(Or(In(3, frozenset({1, 2})), NotIn(4, frozenset({b"z"}))), InBucket(5, 16, frozenset({3}))),
)
FILTERS = Or(Or(IsNull(1), NotNull(2)), Or(Or(IsNaN(3), NotNaN(4)), Or(AlwaysTrue(), AlwaysFalse())))
ROWS = {"file:///w/a.parquet": DeletedRows(0, ("p",), BitMap64([1, 1 << 33]))}
ACTIONS: list[Action] = [
    AppendFiles((FILE,), {"job": "x"}),
    OverwriteFiles((FILE,), (FILE,), base_snapshot_id=5, read_filter=FILTER, unique_key=(1,)),
    OverwriteFiles((FILE,), partitions=frozenset({(0, ("p", None)), (1, (Decimal("1.5"),))}), needed_filter=FILTERS),
    OverwriteRows(FILTER, (FILE,), (FILE,), (DELETES,), frozenset({"f"}), 7, FILTERS, ROWS),
    RowDelta((FILE,), (DELETES,), frozenset(ROWS), base_snapshot_id=1 << 62, deleted_rows=ROWS, read_filter=FILTER),
]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: type(action).__name__)
def test_a_request_comes_back_as_it_was(action: Action) -> None:
    destination = Destination("audit", summary=(("a", "b"),))
    request = CommitRequest(TableIdentifier(("db", "x"), "t"), "v1", "uuid", action, destination, "token")
    message = encode_request(request)
    assert message is not None
    assert decode_request(message) == request


def test_what_cannot_be_told_is_no_request() -> None:
    def request(action: Action) -> CommitRequest:
        return CommitRequest(TableIdentifier(("db",), "t"), "v1", "uuid", action, Destination(), "token")

    deep: Predicate = AlwaysTrue()
    for _ in range(100_000):
        deep = Not(deep)
    assert encode_request(request(ChangeProperties({"a": "b"}))) is None
    assert encode_request(request(RowDelta(read_filter=Comparison("=", 1, object())))) is None
    assert encode_request(request(RowDelta(read_filter=deep))) is None


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x80\x04cos\nsystem\n",
        b"[]",
        b'{"is": "AppendFiles", "fields": {"files": []}}',
        b'{"is": "Path", "fields": {}}',
        b'{"is": "CommitRequest", "fields": {"os": 1}}',
        b'{"import": "os"}',
        b'{"positions": "AAAA"}',
        b"[" * 100_000,
        json.dumps({"decimal": "x"}).encode(),
    ],
)
def test_anything_else_is_refused(message: bytes) -> None:
    with pytest.raises(ValueError, match="no request"):
        decode_request(message)


@pytest.mark.parametrize("answer", [Landed("v2", None, 1), Landed("v2", 5, 3), NotTaken("why")])
def test_answers(answer: Answer) -> None:
    assert decode_answer(encode_answer(answer)) == answer


def test_errors_are_the_same_at_the_other_end() -> None:
    for error in (
        StaleRead("CONCURRENT_CHANGE", name="t", reason="it's {changed}"),
        CommitStateUnknown("COMMIT_STATE_UNKNOWN", name="t", reason="lost", commit_id="c"),
    ):
        answer = decode_answer(encode_answer(error))
        assert type(answer) is type(error)
        assert str(answer) == str(error)
    contender = Contender(None, 7, "append", 1_000, (("engine-name", "x"),), ("a.parquet",), ('{"id": 1}',))
    refused = decode_answer(encode_answer(StaleRead("CONCURRENT_CHANGE", name="t", reason="r", contender=contender)))
    assert isinstance(refused, StaleRead)
    assert refused.contender == contender
    for message in (b"", b"[]", b'{"error": "SystemExit"}', b'{"error": "StaleRead", "condition": "X"}'):
        with pytest.raises(ValueError, match="no answer"):
            decode_answer(message)
