"""A client of Spark Connect, whose process has no JVM: `python -m matrix.ways.connect WAREHOUSE ABILITY…`.

The server is another process, started by spark-submit with the shim's jar.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from drivers.spark_servers import CONNECT, server
from matrix.attempts import tell
from matrix.ways.chosen import chosen
from matrix.ways.in_session import attempts


def main(warehouse: str, *names: str) -> None:
    folder = Path(warehouse)
    with server(CONNECT, folder) as port:
        os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
        tell(attempts(spark, chosen(names), folder / "files"))
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
