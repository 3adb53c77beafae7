"""Pieces of files as the shim describes them."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from sqlext.errors import OnlyByQuery
from sqlext.scan.file_piece import FilePiece, PieceFilter
from sqlext.spark.scan.described_piece import described_piece, packed_piece
from sqlext.spec.expression import And, Comparison, NotNull
from sqlext.spec.schema import Schema
from sqlext.spec.types import DateType, NestedField, StringType

READ = {
    "type": "struct",
    "fields": [
        {"name": "c0", "type": "string", "nullable": True, "metadata": {}},
        {"name": "c1", "type": "date", "nullable": True, "metadata": {}},
    ],
}


def told(condition: list[Any] | None = None) -> dict[str, Any]:
    place = {"path": "/a", "size": 9, "start": 1, "length": 2}
    return {**place, "columns": [3, 4], "table": "t", "condition": condition, "read": READ}


def test_packed() -> None:
    packed, piece = json.dumps(told()).encode(), FilePiece("/a", 9, 1, 2, (3, 4), "t")
    assert packed_piece(packed + b"\n") == piece == described_piece(told())
    deletes = b"\n\0"
    assert packed_piece(packed + b"\n" + deletes) == FilePiece("/a", 9, 1, 2, (3, 4), "t", deletes)


def test_a_condition() -> None:
    piece = described_piece(told(["and", ["not null", ["c1"]], [">", ["c1"], 5]]))
    assert piece.filter == PieceFilter(
        And(NotNull(2), Comparison(">", 2, 5)),
        Schema((NestedField(1, "c0", StringType()), NestedField(2, "c1", DateType()))),
        pa.schema([("c0", pa.string()), ("c1", pa.date32())]),
    )


@pytest.mark.parametrize(
    "condition",
    [
        ["=", ["c1"], "no number"],
        ["=", ["c2"], 5],
        ["in", {"transform": "bucket", "number": 4, "column": ["c0"]}, [1, 2]],
    ],
    ids=["another type", "another column", "buckets"],
)
def test_conditions_of_spark(condition: list[Any]) -> None:
    with pytest.raises(OnlyByQuery, match="a condition that only Spark evaluates"):
        described_piece(told(condition))
