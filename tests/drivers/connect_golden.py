"""Golden areas through Spark Connect: `connect_golden.py PORT WAREHOUSE AREA…` prints those that differ, as JSON."""

from __future__ import annotations

import difflib
import json
import re
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from golden.runner import result_path, run_area

# What a statement is lowered to is logged by the server's Python side.
_LOWERED = re.compile(r"^-- lowered\n(?:(?!-- )[^\n]+\n)*", re.MULTILINE)


def main(port: str, warehouse: str, *areas: str) -> list[str]:
    spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    differing = []
    for area in areas:
        given = _LOWERED.sub("", run_area(spark, Path(warehouse), area))
        recorded = _LOWERED.sub("", result_path(area).read_text())
        if given != recorded:
            differing.append(area)
            lines = difflib.unified_diff(recorded.splitlines(), given.splitlines(), lineterm="", n=1)
            print("\n".join([area, *lines]), file=sys.stderr)
    spark.stop()
    return differing


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
