"""What PySpark tells of an error of sqlext: condition, parameters, and the message, which it makes of both."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

STATEMENTS = {
    "UPSERT INTO {t} VALUES (1, 'a'), (1, 'b')": ("DUPLICATE_KEY", "1"),
    "SELECT * FROM lake.db.there_is_none": ("TABLE_OR_VIEW_NOT_FOUND", "there_is_none"),
    "CREATE NAMESPACE lake.db": ("SCHEMA_ALREADY_EXISTS", "db"),
    "ALTER TABLE {t} ADD PRIMARY KEY (name)": ("INVALID_PRIMARY_KEY", "key"),
    "UPSERT INTO {t} WITH ('a'=) SELECT 1": ("PARSE_SYNTAX_ERROR", ")"),
    "DELETE FROM {t} WHERE nane = 'a'": ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "nane"),
    "CALL lake.system.undo('{t}', 5)": ("UNDO_NOT_POSSIBLE", "5"),
    "INSERT INTO {t} VALUES (NULL, '<name>')": ("NULL_IN_REQUIRED_COLUMN", "id"),
}


@pytest.mark.parametrize("statement", list(STATEMENTS))
def test_the_message_is_made_of_the_parameters(spark: SparkSession, table_name: str, statement: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, name STRING, PRIMARY KEY (id))")
    condition, named = STATEMENTS[statement]
    with pytest.raises(PySparkException) as raised:
        spark.sql(statement.format(t=table_name)).collect()
    error = raised.value
    assert error.getCondition() == condition
    message = error.getMessage()
    assert message.startswith(f"[{condition}] "), message
    assert named in message
    assert error.getSqlState() in message


def test_a_second_error_of_a_condition_has_its_own_message(spark: SparkSession) -> None:
    for name in ("first_of_them", "second_of_them"):
        with pytest.raises(PySparkException) as raised:
            spark.sql(f"CALL lake.system.{name}()")
        assert name in raised.value.getMessage()
