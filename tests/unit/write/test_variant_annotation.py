"""The mark of variants in a Parquet footer, as DuckDB and pyarrow read it."""

from __future__ import annotations

import io
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.write.arrow_schema import VARIANT
from sqlext.write.variant_annotation import with_variants

ONE = {"metadata": b"\x01\x00\x00", "value": b"\x0c\x01"}


def file_bytes(columns: int) -> bytes:
    names = [f"c{number}" for number in range(columns)]
    plain = {name: pa.array([1], pa.int32()) for name in names}
    values = {
        "v": pa.array([ONE], VARIANT),
        "s": pa.array([{"a": 1.5, "l": [ONE, None]}], pa.struct([("a", pa.float64()), ("l", pa.list_(VARIANT))])),
        "w": pa.array([None], VARIANT),
    }
    sink = io.BytesIO()
    pq.write_table(pa.table({**plain, **values, "last": pa.array(["x"])}), sink, store_schema=False)
    return sink.getvalue()


@pytest.mark.parametrize("columns", [0, 20])
def test_marked_groups_are_variants_and_all_else_is_as_it_was(tmp_path: Path, columns: int) -> None:
    path = tmp_path / "v.parquet"
    data = file_bytes(columns)
    path.write_bytes(with_variants(data, frozenset({("v",), ("s", "l", "list", "element")})))
    types = dict(
        duckdb.sql(f"DESCRIBE SELECT v, s, w, last FROM '{path}'").project("column_name, column_type").fetchall()
    )
    assert types["v"] == "VARIANT"
    assert types["s"] == "STRUCT(a DOUBLE, l VARIANT[])"
    assert types["w"].startswith("STRUCT")
    assert duckdb.sql(f"SELECT v::INT, s.l[1]::INT, s.a, last FROM '{path}'").fetchall() == [(1, 1, 1.5, "x")]
    assert pq.read_table(path).equals(pq.read_table(io.BytesIO(data)))


def test_no_group_of_that_path() -> None:
    with pytest.raises(ValueError, match="lacks"):
        with_variants(file_bytes(1), frozenset({("c0",), ("nowhere",)}))
    with pytest.raises(ValueError, match="no footer"):
        with_variants(b"PAR1" * 4, frozenset({("v",)}))
