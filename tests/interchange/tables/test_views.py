"""Views are what Iceberg's view spec says, by PyIceberg's and Iceberg's own readers, and behave as Spark's own do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyiceberg.view.metadata import ViewMetadata
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge, JudgeError
from sqlext.spec.metadata import metadata_checksum

QUERY = "SELECT id, named_struct('a', tags, 'b', day) AS s /* 'é' */ FROM judged_source"


@pytest.fixture(scope="module")
def metadata_file(spark: SparkSession, warehouse: Path) -> Path:
    """A view of two versions, made while another catalog is current."""
    spark.sql("CREATE TABLE lake.db.judged_source (id BIGINT, tags ARRAY<STRING>, day DATE)")
    spark.sql("CREATE VIEW lake.db.judged (a COMMENT 'first', b) TBLPROPERTIES ('k' = 'v') AS SELECT 1, 2")
    spark.sql("USE lake.db")
    try:
        spark.sql(f"ALTER VIEW judged AS {QUERY}")
    finally:
        spark.sql("USE spark_catalog.default")
    return warehouse / "db/judged/metadata/v2.metadata.json"


def test_pyiceberg_reads_the_metadata(metadata_file: Path) -> None:
    view = ViewMetadata.model_validate_json(metadata_file.read_bytes())
    current = next(version for version in view.versions if version.version_id == view.current_version_id)
    assert [one.root.sql for one in current.representations] == [QUERY]
    assert (current.default_catalog, list(current.default_namespace)) == ("lake", ["db"])
    assert [entry.version_id for entry in view.version_log] == [1, 2]


def test_iceberg_reads_the_metadata_and_writes_the_same(metadata_file: Path, iceberg: IcebergJudge) -> None:
    text = metadata_file.read_text()
    written = json.loads(text)
    del written[metadata_checksum.MEMBER]
    assert json.loads(iceberg.view_metadata(text)) == written


def test_iceberg_leaves_the_name_alone(metadata_file: Path, iceberg: IcebergJudge) -> None:
    before = metadata_file.read_bytes()
    for statement in ("CREATE TABLE lake.db.judged (id INT) USING iceberg", "SELECT * FROM lake.db.judged"):
        with pytest.raises(JudgeError):
            iceberg.sql(statement)
    assert sorted(path.name for path in metadata_file.parent.glob("*.json")) == ["v1.metadata.json", "v2.metadata.json"]
    assert metadata_file.read_bytes() == before


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM {v}",
        "SELECT {v}.k, count(*) FROM {v} GROUP BY {v}.k",
        "SELECT x.K FROM {v} AS x JOIN {v} AS y ON x.k = y.k WHERE y.n > 1",
        "SELECT (SELECT max(n) FROM {v}), EXISTS (SELECT 1 FROM {v} WHERE n < 0)",
        "WITH c AS (SELECT * FROM {v}) SELECT * FROM c UNION ALL SELECT * FROM {v}",
        "SELECT nothing FROM {v}",
        "INSERT INTO {v} VALUES (1, 2)",
    ],
)
def test_a_query_gives_what_it_gives_over_a_view_of_sparks_own(spark: SparkSession, query: str) -> None:
    """Also after the table has changed, and in a session with other settings than the one that made the views."""
    source = "spark_catalog.default.view_source"
    spark.sql(f"CREATE TABLE IF NOT EXISTS {source} USING parquet AS SELECT 1 AS k, '2' AS n")
    answers = []
    for view in ("spark_catalog.default.judged_view", "lake.db.judged_view"):
        spark.sql(f"CREATE OR REPLACE VIEW {view} (k, n) AS SELECT k, try_cast(n AS INT) + 1 AS m FROM {source}")
        spark.conf.set("spark.sql.ansi.enabled", "false")
        try:
            answers.append(canonical_rows(spark.sql(query.format(v=view))))
        except PySparkException:
            answers.append([["refused"]])
        finally:
            spark.conf.unset("spark.sql.ansi.enabled")
            spark.sql(f"DROP VIEW {view}")
    spark.sql(f"DROP TABLE {source}")
    assert answers[0] == answers[1]
