"""What Spark 4.0 does not read rightly is refused by name."""

from __future__ import annotations

import pytest

from sqlext.spark.bridge.refusals import refuse_nested_column
from unit.command.lake import refused


@pytest.mark.parametrize(("kind", "said"), [("variant", "VARIANT"), ("struct", "column who with a struct")])
def test_what_spark_4_0_misreads(kind: str, said: str) -> None:
    with refused("NOT_READ_BY_SPARK_4_0", "Table lake.db.t has", said):
        refuse_nested_column({"name": "lake.db.t", "kind": kind, "column": "who"})
