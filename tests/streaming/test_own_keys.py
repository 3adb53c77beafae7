"""Small batches of a stream whose rows have keys of their own: the driver takes them as they come, and looks no further
than it has to."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.row_level import Target
from sqlext.command.upsert import upsert
from sqlext.command.upsert.distinct_batch import rows_with_distinct_keys
from streaming.json_stream import JsonStream

WAYS = {
    "equality": "'write.upsert.mode'='equality'",
    "resolved v2": "'format-version'='2'",
    "resolved v3": "'format-version'='3'",
    "auto": "'write.merge.mode'='auto'",
}


@pytest.mark.turns(1)
@pytest.mark.parametrize("way", WAYS)
def test_the_newest_row_of_a_key_is_there(
    spark: SparkSession, tmp_path: Path, table_name: str, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Some batches have a key twice, of which the last row counts: those go by Spark, as before."""
    taken: list[bool] = []

    def noted(target: Target, rows: DataFrame, most_bytes: int) -> pa.Table | None:
        found = rows_with_distinct_keys(target, rows, most_bytes)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(upsert, "rows_with_distinct_keys", noted)
    changes = JsonStream(spark, tmp_path / "changes", "a BIGINT, b STRING, v STRING, n DECIMAL(20,2)")
    columns = "a BIGINT, b STRING, v STRING, n DECIMAL(20,2), PRIMARY KEY (a, b) NOT ENFORCED"
    spark.sql(f"CREATE TABLE {table_name} ({columns}) TBLPROPERTIES ('bucket'='2', 'bucket-key'='a', {WAYS[way]})")
    rng, model, ids, twice = random.Random(1), {}, {}, []
    for step in range(6):
        keys = [(rng.randrange(4), rng.choice("xyä")) for _ in range(5)]
        if step % 3:
            keys = list(dict.fromkeys(keys))
        twice.append(len(set(keys)) < len(keys))
        rows = [{"a": a, "b": b, "v": rng.choice((None, f"{step}")), "n": number} for number, (a, b) in enumerate(keys)]
        changes.put(*rows)
        changes.run(table_name, "update")
        model |= {(row["a"], row["b"]): (row["v"], row["n"]) for row in rows}
        found = {(row.a, row.b): (row.v, row.n) for row in spark.table(table_name).collect()}
        assert found == model
        if way == "resolved v3":
            lineage = spark.sql(f"SELECT a, b, _row_id FROM {table_name}").collect()
            now = {(row.a, row.b): row._row_id for row in lineage}
            # A row that takes the place of another has its id.
            assert now | ids == now
            ids = now
    assert True in twice
    assert taken == ([] if way == "auto" else [not one for one in twice])
