"""Threads that each change their own keys of one table, with statements one after another.

As a script they race those of another process: `racing_process.py WAREHOUSE STATEMENT THREADS KEYS ROUNDS` prints
`ready` and begins once it has read a line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession

from sessions import open_session


def race(spark: SparkSession, statement: str, threads: Iterable[int], keys: int, rounds: int) -> None:
    """Runs the statement `rounds` times in each of the threads, which have these numbers, and raises the first failure.

    In the statement `{low}` and `{high}` stand for the first of the thread's keys and the one behind its last, and
    `{round}` for the number of its run.
    """

    def change(thread: int) -> None:
        low = thread * keys
        for at in range(rounds):
            spark.sql(statement.format(low=low, high=low + keys, round=at))

    numbers = list(threads)
    with ThreadPoolExecutor(len(numbers)) as pool:
        list(pool.map(change, numbers))


def main() -> None:
    warehouse, statement, threads, keys, rounds = sys.argv[1:]
    spark = open_session(Path(warehouse))
    spark.sql("SHOW NAMESPACES IN lake").collect()
    print("ready", flush=True)
    sys.stdin.readline()
    race(spark, statement, range(int(threads)), int(keys), int(rounds))
    spark.stop()


if __name__ == "__main__":
    main()
