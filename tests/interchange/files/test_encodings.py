"""Encodings that sqlext chooses for data files, which every reader must know."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from crossread.readers import by_duckdb, by_polars, by_pyiceberg
from judges.canonical import canonical_rows
from judges.judged import Judged
from judges.pyiceberg_judge import latest_metadata

ROWS = 3_000
NUMBERS = {
    "INT": "CAST(id AS INT)",
    "BIGINT": "4000000000 + id * 3",
    "DATE": "date_add(DATE'1960-01-01', CAST(id AS INT))",
    "TIMESTAMP": "TIMESTAMP'1969-12-31 23:00:00' + make_interval(0, 0, 0, 0, 0, 0, id)",
    "DECIMAL(9,2)": "CAST((id - 1500) * 7 % 1000 AS DECIMAL(9,2)) / 100",
    "DECIMAL(12,2)": "CAST(1000000000 + id * 7 % 5000 AS DECIMAL(12,2))",
    "DECIMAL(18,0)": "CAST((id - 1500) * 90000000000 AS DECIMAL(18,0))",
}


@pytest.mark.parametrize("type", NUMBERS)
def test_deltas_of_whole_numbers(judged: Judged, type: str) -> None:
    spark, t = judged.spark, judged.table
    spark.sql(f"CREATE TABLE {t} (id BIGINT, n {type}, note STRING)")
    spark.sql(
        f"INSERT INTO {t} SELECT id, CASE WHEN id % 11 > 0 THEN {NUMBERS[type]} END, concat('n', id)"
        f" FROM range(0, {ROWS}, 1, 1)"
    )
    (file,) = [row.file_path.removeprefix("file:") for row in spark.sql(f"SELECT file_path FROM {t}.files").collect()]
    assert "DELTA_BINARY_PACKED" in pq.read_metadata(file).row_group(0).column(1).encodings
    query = f"SELECT id, n FROM {t} WHERE n IS NOT NULL AND id > 70 ORDER BY id"
    rows = canonical_rows(spark.sql(query))
    assert len(rows) > 2_500
    assert judged.iceberg.sql(query) == rows
    for vectorized in ("true", "false"):
        session = spark.newSession()
        session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
        found = session.read.parquet(file).where("n IS NOT NULL AND id > 70").select("id", "n").orderBy("id")
        assert canonical_rows(found) == rows
    every = canonical_rows(spark.table(t))
    metadata = latest_metadata(judged.warehouse.joinpath(*t.split(".")[1:]))
    for reader in (by_pyiceberg, by_duckdb, by_polars):
        assert reader(metadata) == every, reader
