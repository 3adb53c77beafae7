"""Every changelog of a key with up to five events, in every way to divide it into batches, in every mode of a sink."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streaming.json_stream import JsonStream, folded

KINDS = ("+I", "-U", "+U", "-D")
EVENTS = 5
MODES = (
    {"format-version": "2", "write.upsert.mode": "equality"},
    {"format-version": "2", "write.upsert.mode": "resolved"},
    {"format-version": "3", "write.upsert.mode": "resolved"},
    {"format-version": "3", "write.upsert.mode": "equality", "bucket": "2", "num-sorted-run.compaction-trigger": "2"},
)


def _batches() -> list[list[dict[str, Any]]]:
    """One key for each list of kinds and each way to divide it: the batch of an event never goes down."""
    batches: list[list[dict[str, Any]]] = [[] for _ in range(EVENTS)]
    id = 0
    for length in range(1, EVENTS + 1):
        for kinds in itertools.product(KINDS, repeat=length):
            for cuts in itertools.product((0, 1), repeat=length - 1):
                places = itertools.accumulate((0, *cuts))
                for number, (kind, batch) in enumerate(zip(kinds, places, strict=True)):
                    batches[batch].append({"id": id, "v": number, "_row_kind": kind})
                id += 1
    return batches


@pytest.mark.turns(2)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: "-".join(mode.values()))
def test_every_changelog_of_a_key(spark: SparkSession, table_name: str, tmp_path: Path, mode: dict[str, str]) -> None:
    properties = ", ".join(f"'{name}'='{value}'" for name, value in mode.items())
    spark.sql(f"CREATE TABLE {table_name} (id INT, v INT, PRIMARY KEY (id)) TBLPROPERTIES ({properties})")
    stream = JsonStream(spark, tmp_path, "id INT, v INT, _row_kind STRING")
    batches = _batches()
    for batch in batches:
        stream.put(*batch)
    stream.run(table_name, "update")
    snapshots = spark.sql(
        f"SELECT summary['spark.sql.streaming.epochId'] AS batch, snapshot_id FROM {table_name}.snapshots"
        " WHERE operation <> 'replace'"
    ).collect()
    of_batch = {int(row.batch): row.snapshot_id for row in snapshots}
    assert sorted(of_batch) == list(range(EVENTS))
    events: list[dict[str, Any]] = []
    for number, batch in enumerate(batches):
        events += batch
        found = spark.sql(f"SELECT id, v FROM {table_name} VERSION AS OF {of_batch[number]}").toArrow()
        rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
        assert sorted(rows) == sorted((row["id"], row["v"]) for row in folded(events).values())
