"""A piece of a file as the shim describes it, in JSON, with the condition on its rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql.types import StructType

from sqlext.errors import OnlyByQuery
from sqlext.scan.file_piece import FilePiece, PieceFilter
from sqlext.scan.filter.row_selection import is_evaluated
from sqlext.spark.catalog.arrow_types import to_arrow_schema
from sqlext.spark.catalog.data_type import schema_from_spark
from sqlext.spark.scan.pushdown import exact_predicate


def described_piece(told: Mapping[str, Any], deletes: bytes | None = None) -> FilePiece:
    """The piece. Raises OnlyByQuery for a condition that is not evaluated without Spark."""
    place = (told["path"], told["size"], told["start"], told["length"])
    return FilePiece(*place, tuple(told["columns"]), told["table"], deletes, _filter(told))


def packed_piece(packed: bytes) -> FilePiece:
    """The piece of JSON, a line feed, and the deletes, if any. Raises as `described_piece`."""
    line, _, deletes = packed.partition(b"\n")
    return described_piece(json.loads(line), deletes or None)


def _filter(told: Mapping[str, Any]) -> PieceFilter | None:
    """With a condition `read` is told too: Spark's struct of the columns, whose names are their places."""
    condition = told["condition"]
    if condition is None:
        return None
    read = told["read"]
    schema = schema_from_spark(read)
    predicate = exact_predicate(condition, schema)
    if predicate is None or not is_evaluated(predicate):
        raise OnlyByQuery("a condition that only Spark evaluates")
    return PieceFilter(predicate, schema, to_arrow_schema(StructType.fromJson(dict(read))))
