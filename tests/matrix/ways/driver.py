"""A Python driver, with its executors in its own JVM: `python -m matrix.ways.driver WAREHOUSE ABILITY…`."""

from __future__ import annotations

import sys
from pathlib import Path

import sqlext
from matrix.attempts import tell
from matrix.ways.chosen import chosen
from matrix.ways.in_session import attempts
from sessions import settings


def main(warehouse: str, *names: str, master: str = "local[2]", **others: str) -> None:
    """Tells an attempt of each ability; `others` are settings beside those of the tests' session."""
    folder = Path(warehouse)
    conf = {
        **settings(),
        "spark.driver.memory": "2g",
        "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
        **others,
    }
    spark = sqlext.session(lake=folder / "lake", master=master, conf=conf)
    tell(attempts(spark, chosen(names), folder / "files"))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
