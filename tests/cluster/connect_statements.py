"""A client of Spark Connect whose server has executors, which run Python for it: `connect_statements.py PORT`."""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession


def main(port: str) -> None:
    spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    # the session has files of its own, and so its executors a folder apart from the application's
    spark.addArtifacts(__file__, pyfile=True)
    spark.sql("CREATE NAMESPACE lake.db")
    spark.sql("CREATE TABLE lake.db.t (id BIGINT, v STRING, PRIMARY KEY (id))")
    spark.sql("INSERT INTO lake.db.t SELECT id, 'a' FROM range(2000000)")
    spark.sql("UPDATE lake.db.t SET v = 'b' WHERE id % 3 = 0")
    print(
        json.dumps(
            [list(row) for row in spark.sql("SELECT v, count(*) FROM lake.db.t GROUP BY v ORDER BY v").collect()]
        )
    )
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
