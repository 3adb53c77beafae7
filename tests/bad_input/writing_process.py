"""A process of its own that writes and is stopped from outside: `writing_process.py <warehouse> loop|long`.

`loop` inserts 1, 2, 3, … and prints each number once its statement has returned. `long` runs one write on the
executors and, when that is interrupted, a count.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sessions import open_session


def say(text: object) -> None:
    print(text, flush=True)


def insert_in_a_loop(spark: SparkSession) -> None:
    number = int(spark.sql("SELECT coalesce(max(id), 0) AS n FROM lake.db.t").first()["n"])
    while True:
        number += 1
        spark.sql(f"INSERT INTO lake.db.t VALUES ({number}), ({number})")
        say(number)


def write_for_long(spark: SparkSession) -> None:
    say("writing")
    try:
        spark.sql("INSERT INTO lake.db.t SELECT id FROM range(0, 1000000000, 1, 4)")
    except PySparkException as refused:
        say(str(refused).splitlines()[0])
    say(spark.table("lake.db.t").count())


if __name__ == "__main__":
    session = open_session(Path(sys.argv[1]))
    session.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")
    session.sql("CREATE TABLE IF NOT EXISTS lake.db.t (id BIGINT)")
    say("ready")
    {"loop": insert_in_a_loop, "long": write_for_long}[sys.argv[2]](session)
