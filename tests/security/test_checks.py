"""A CHECK that a hand put into a table's properties runs nothing but Spark's deterministic functions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import BooleanType

from sqlext.command.check_definition import require_allowed
from sqlext.errors import AnalysisError

ALLOWED = (
    "v > 0",
    "v BETWEEN 1 AND 5 AND t LIKE 'a%' OR t IS NULL",
    "CASE WHEN v > 3 THEN upper(t) = 'A' ELSE true END",
    "CAST(t AS INT) > 0 -- a note",
    "t RLIKE '^[a-z]+$' AND length(trim(BOTH ' ' FROM t)) = length(t)",
    "exists(array(v, 1), x -> x > 0) AND v IN (1, 2, 3) AND t::string <> 'it''s'",
    "extract(YEAR FROM DATE '2020-01-01') > v AND v % 2 = 0 AND NOT (v <=> 5)",
    "array_contains(split(t, ','), 'a') AND size(transform(sequence(1, 3), x -> x + v)) = 3",
)
METHOD = "'java.lang.System', 'setProperty', 'sqlext.owned', 'yes'"
REFUSED = (
    f"java_method({METHOD}) IS NULL",
    f"JAVA_METHOD({METHOD}) IS NULL",
    f"`java_method`({METHOD}) IS NULL",
    f"reflect({METHOD}) IS NULL",
    f"try_reflect({METHOD}) IS NULL",
    f"system.builtin.java_method({METHOD}) IS NULL",
    f"IDENTIFIER('java_method')({METHOD}) IS NULL",
    f"IDENTIFIER('java' || '_method')({METHOD}) IS NULL",
    f"java_method/* */({METHOD}) IS NULL",
    f"upper(java_method({METHOD})) IS NULL",
    f"exists(array(1), x -> java_method({METHOD}) IS NULL)",
    f"true) THEN 1 WHEN (java_method({METHOD}) IS NULL",
    f"v > (SELECT count(java_method({METHOD})))",
    f"EXISTS (SELECT java_method({METHOD}))",
    f"v IN (SELECT length(java_method({METHOD})))",
    "v > (VALUES (1))",
    "v > (FROM range(3) SELECT max(id))",
    "${spark.sql.shuffle.partitions} > 0",
    "'${env:PATH}' = 'a'",
    "owned(v) > 0",
    "lake.owned(v) > 0",
    "rand() > 0.5",
    "uuid() <> t",
    "now() > TIMESTAMP '2020-01-01 00:00:00'",
    "current_date() > DATE '2020-01-01'",
    "current_user() = 'root'",
    "max(v) > 0",
    "row_number() OVER (ORDER BY v) > 0",
    "input_file_name() = 'a'",
    "raise_error(t) IS NULL",
    "version() = 'a'",
    "xpath_string(t, 'a') = 'a'",
    "explode(array(v)) > 0",
    "count(*) > 0",
    "v >",
    "",
)


@pytest.fixture
def owned(spark: SparkSession) -> SparkSession:
    spark.udf.register("owned", lambda v: True, BooleanType())
    return spark


@pytest.mark.parametrize("text", ALLOWED)
def test_conditions_of_deterministic_functions_are_taken(spark: SparkSession, table_name: str, text: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (v INT, t STRING, CHECK ({text}\n))")
    assert _refused(spark, text) is None


@pytest.mark.parametrize("text", REFUSED)
def test_what_could_reach_further_is_refused_when_it_is_read(owned: SparkSession, text: str) -> None:
    assert _refused(owned, text)


@pytest.mark.parametrize("text", [REFUSED[0], REFUSED[11], REFUSED[12], REFUSED[16]])
def test_no_write_runs_a_condition_that_a_hand_put_into_metadata(
    owned: SparkSession, warehouse: Path, table_name: str, text: str
) -> None:
    spark, name = owned, table_name.split(".")[-1]
    spark.sql(f"CREATE TABLE {table_name} (v INT, t STRING, PRIMARY KEY (v)) WITH ('x'='here')")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a')")
    _put_into_properties(warehouse / "db" / name, text)
    for statement in (
        f"INSERT INTO {table_name} VALUES (2, 'b')",
        f"INSERT INTO {table_name} SELECT id, 'b' FROM range(3)",
        f"UPDATE {table_name} SET t = 'c'",
        f"UPSERT INTO {table_name} VALUES (1, 'd')",
        f"MERGE INTO {table_name} AS t USING (SELECT 5 AS v) AS s ON s.v = t.v"
        " WHEN NOT MATCHED THEN INSERT (v) VALUES (s.v)",
    ):
        with pytest.raises(AnalysisException, match="INVALID_CHECK_CONSTRAINT"):
            spark.sql(statement)
    assert spark._jvm.java.lang.System.getProperty("sqlext.owned") is None
    assert spark.table(table_name).collect() == [(1, "a")]
    spark.sql(f"ALTER TABLE {table_name} DROP CONSTRAINT evil")
    spark.sql(f"INSERT INTO {table_name} VALUES (2, 'b')")


def test_all_allowed_functions_are_spark_s_and_deterministic(spark: SparkSession) -> None:
    """A list from Spark's registry: what it says of each function that a CHECK may call."""
    jvm = spark._jvm
    registry = jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()
    names = registry.listFunction().iterator()
    groups: dict[str, str] = {}
    while names.hasNext():
        name = names.next()
        groups[name.funcName()] = registry.lookupFunction(name).get().getGroup()
    allowed = {name for name in groups if name.isidentifier() and not _refused(spark, f"`{name}`(v)")}
    assert len(allowed) > 250
    unsafe = {"agg_funcs", "window_funcs", "generator_funcs", "table_funcs", "xml_funcs"}
    assert {name for name in allowed if groups[name] in unsafe} == set()
    assert {name for name in allowed if groups[name] == "misc_funcs"} == {"typeof"}


def _put_into_properties(folder: Path, text: str) -> None:
    """The next version of a table, as a hand would write it."""
    versions = {int(path.name[1:].split(".")[0]): path for path in (folder / "metadata").glob("v*.metadata.json")}
    newest = max(versions)
    metadata = json.loads(versions[newest].read_text())
    metadata["properties"]["sqlext.check.evil"] = text
    (folder / "metadata" / f"v{newest + 1}.metadata.json").write_text(json.dumps(metadata))


def _refused(spark: SparkSession, text: str) -> str | None:
    try:
        require_allowed(spark, "c", text)
    except AnalysisError as refused:
        return str(refused)
    return None
