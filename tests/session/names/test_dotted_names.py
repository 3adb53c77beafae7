"""A column `s.k` beside a field `k` of a struct `s`: a filter on the one finds its rows, whoever wrote the file."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from sqlext.write import data_writer
from sqlext.write.encoding import Encodings

FILTERS = {
    "s.k = 1": [1],
    "s.k <= 1": [1],
    "`s.k` = 2": [2],
    "`s.k` IS NULL": [1],
    "s.k IS NULL": [2],
    "s.k IN (1, 7) OR `s.k` IN (2, 8)": [1, 2],
    "`s.k` = 1": [],
    "s.k = 2": [],
}


@pytest.mark.parametrize("columns", ["s STRUCT<k: INT>, `s.k` INT", "`s.k` INT, s STRUCT<k: INT>"])
@pytest.mark.parametrize("has_dictionaries", [False, True])
def test_a_filter_on_the_one_is_no_filter_on_the_other(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, columns: str, has_dictionaries: bool
) -> None:
    """Parquet's Java reader looks up dictionaries by dotted path, so the one's is taken for the other's."""
    if has_dictionaries:

        def as_others_write(columns: object, batches: object, chunks: object) -> Encodings:
            return Encodings(("id", "s.k"), ())

        monkeypatch.setattr(data_writer, "choose_encodings", as_others_write)
    spark.sql(f"CREATE TABLE {table_name} (id INT, {columns})")
    for values in ("1, named_struct('k', 1), CAST(NULL AS INT)", "2, CAST(NULL AS STRUCT<k: INT>), 2"):
        spark.sql(f"INSERT INTO {table_name} (id, s, `s.k`) SELECT {values}")
    for condition, ids in FILTERS.items():
        found = spark.sql(f"SELECT id, s, `s.k` FROM {table_name} WHERE {condition} ORDER BY id").collect()
        assert [row[0] for row in found] == ids, condition
    for file in spark.sql(f"SELECT file_path FROM {table_name}.files").collect():
        stored = spark.read.parquet(file[0])
        mine = [row[0] for row in stored.where("s.k = 1 OR `s.k` = 2").collect()]
        assert has_dictionaries or mine == [row[0] for row in stored.collect()], "Spark's own reader finds them too"


@pytest.mark.parametrize("columns", ["s STRUCT<k: INT>, `s.k` INT", "`s.k` INT, s STRUCT<k: INT>"])
def test_pages_of_the_one_are_not_passed_over_by_the_bounds_of_the_other(
    spark: SparkSession, table_name: str, columns: str
) -> None:
    limits = "'write.parquet.page-row-limit'='100', 'write.parquet.row-group-limit'='500'"
    spark.sql(f"CREATE TABLE {table_name} (id INT, {columns}) TBLPROPERTIES ({limits})")
    rows = "SELECT /*+ COALESCE(1) */ id, named_struct('k', id), 999 - id FROM range(1000)"
    spark.sql(f"INSERT INTO {table_name} (id, s, `s.k`) {rows}")
    for value in (0, 99, 100, 499, 500, 730, 999):
        for condition, id in ((f"s.k = {value}", value), (f"`s.k` = {value}", 999 - value)):
            assert [row.id for row in spark.table(table_name).where(condition).collect()] == [id], condition
