"""CALL rewrite_table_path, and the copy"""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

from pyspark.sql import SparkSession

SECTION = "Maintenance"
EXPECTED = "2 c"


def answer(spark: SparkSession, folder: Path) -> str:
    spark.sql("CREATE NAMESPACE lake.rewritten_paths")
    spark.sql("CREATE TABLE lake.rewritten_paths.t (id INT, v STRING) TBLPROPERTIES ('format-version'='3')")
    spark.sql("INSERT INTO lake.rewritten_paths.t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    spark.sql("DELETE FROM lake.rewritten_paths.t WHERE id = 1")
    ((newest,),) = spark.sql("SELECT max(file) FROM lake.rewritten_paths.t.metadata_log_entries").collect()
    prefix = newest[: newest.index("/metadata/")]
    call = f"CALL lake.system.rewrite_table_path('rewritten_paths.t', '{prefix}', '{prefix}_copy')"
    ((_, file_list, *_),) = spark.sql(call).collect()
    with open(file_list.removeprefix("file://"), newline="") as lines:
        for source, target in csv.reader(lines):
            to = Path(target.removeprefix("file://"))
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source.removeprefix("file://"), to)
    found = spark.sql("SELECT count(*), max(v) FROM lake.rewritten_paths.t_copy").collect()[0]
    return f"{found[0]} {found[1]}"
