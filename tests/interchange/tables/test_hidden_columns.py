"""Hidden columns hold what they hold in Iceberg; rows that are deleted come where `_deleted` is named."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge


@pytest.fixture(scope="module")
def keyed(spark: SparkSession) -> str:
    """Two specs; rows deleted by position and by key, and a file of which no row is left."""
    name = "lake.db.hidden_keyed"
    spark.sql(f"CREATE TABLE {name} (id INT, day DATE, price DECIMAL(9, 2), PRIMARY KEY (id, day))"
              " PARTITIONED BY (day) TBLPROPERTIES ('write.upsert.mode'='equality')")  # fmt: skip
    spark.sql(f"INSERT INTO {name} VALUES (1, DATE'2024-01-01', 1), (2, DATE'2024-01-01', 2)")
    spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD truncate(5, id)")
    spark.sql(f"INSERT INTO {name} VALUES (3, DATE'2024-01-02', 3), (44, DATE'2024-01-03', 4)")
    spark.sql(f"DELETE FROM {name} WHERE id IN (1, 44)")
    source = "SELECT 2 AS id, DATE'2024-01-01' AS day, 2.5 AS price"
    spark.sql(f"MERGE INTO {name} AS t USING ({source}) AS s ON t.id = s.id AND t.day = s.day"
              " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")  # fmt: skip
    return name


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, price, _file, _pos, _spec_id, _partition FROM {t}",
        "SELECT id, price, _deleted, _pos FROM {t}",
        "SELECT id, _partition.id_trunc_5 FROM {t} WHERE _deleted",
        "SELECT id FROM {t} WHERE NOT _deleted AND _spec_id = 1",
        "SELECT _spec_id, count(*), max(_partition.day) FROM {t} GROUP BY _spec_id",
        "SELECT a.id, b._deleted FROM {t} AS a JOIN {t} AS b ON a._file = b._file AND a._pos = b._pos",
        "SELECT id FROM {t} WHERE EXISTS (SELECT 1 FROM {t} AS d WHERE d._deleted AND d._partition.day = day)",
        "SELECT typeof(_partition), typeof(_spec_id), typeof(_deleted) FROM {t} LIMIT 1",
    ],
)
def test_as_iceberg(spark: SparkSession, iceberg: IcebergJudge, keyed: str, query: str) -> None:
    text = query.format(t=keyed)
    assert canonical_rows(spark.sql(text)) == iceberg.sql(text)


def test_a_column_of_that_name_that_another_engine_made_is_the_tables_own(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str
) -> None:
    """It is read; rows are written once it has another name."""
    iceberg.sql(f"CREATE TABLE {table_name} (id INT, _deleted STRING, _partition_key INT) USING iceberg")
    iceberg.sql(f"INSERT INTO {table_name} VALUES (1, 'no', 7), (2, 'yes', 8)")
    delete = f"DELETE FROM {table_name} WHERE id = 2"
    with pytest.raises(PySparkException) as refused:
        spark.sql(delete)
    assert refused.value.getCondition() == "RESERVED_COLUMN_IN_TABLE"
    rows = spark.sql(f"SELECT _deleted, _pos IS NULL FROM {table_name} ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [("no", False), ("yes", False)]

    spark.sql(f"ALTER TABLE {table_name} RENAME COLUMN _deleted TO removed")
    spark.sql(delete)
    assert canonical_rows(spark.table(table_name)) == iceberg.sql(f"SELECT * FROM {table_name}") == [[1, "no", 7]]
