"""The main job on real data: `python3 notebooks/flights.py`.

Loads the 336,776 flights that left New York in 2013, with weather, planes and airports, into keyed Iceberg tables in
build/flights-warehouse; applies a day of late changes with MERGE; asks three questions; shows snapshots and files
before and after.
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, ".ci"))

import environment

environment.enter("demo")

import shutil
import time
from pathlib import Path

from pyspark.sql import SparkSession

import sqlext
from nycflights import create_views

BUILD = Path(ROOT, "build")
STARTED = time.monotonic()

TABLES = {
    "flights": """
        CREATE TABLE lake.nyc.flights (
          flown_on DATE, carrier STRING, flight INT, origin STRING, dest STRING COMMENT 'airports.faa',
          tailnum STRING COMMENT 'planes.tailnum', sched_dep_time INT, dep_delay INT COMMENT 'minutes; null: cancelled',
          arr_delay INT COMMENT 'minutes', air_time INT, distance INT COMMENT 'miles', time_hour TIMESTAMP,
          PRIMARY KEY (flown_on, carrier, flight, origin) NOT ENFORCED
        ) PARTITIONED BY (months(flown_on)) WITH ('format-version'='2')""",
    "weather": """
        CREATE TABLE lake.nyc.weather (
          origin STRING, time_hour TIMESTAMP, temp DOUBLE, wind_speed DOUBLE, precip DOUBLE, visib DOUBLE,
          PRIMARY KEY (origin, time_hour) NOT ENFORCED
        ) PARTITIONED BY (origin)""",
    "planes": """
        CREATE TABLE lake.nyc.planes (
          tailnum STRING, year INT, manufacturer STRING, model STRING, engines INT, seats INT,
          PRIMARY KEY (tailnum) NOT ENFORCED
        )""",
    "airports": """
        CREATE TABLE lake.nyc.airports (
          faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT COMMENT 'feet',
          PRIMARY KEY (faa) NOT ENFORCED
        )""",
}
LOADS = {
    "flights": """
        INSERT INTO lake.nyc.flights
        SELECT make_date(year, month, day), carrier, flight, origin, dest, tailnum, sched_dep_time, dep_delay,
          arr_delay, air_time, distance, time_hour
        FROM raw_flights""",
    # the hour that comes twice when summer time ends stands twice in the file: the key takes one of each
    "weather": """
        INSERT INTO lake.nyc.weather
        SELECT origin, time_hour, max(temp), max(wind_speed), max(precip), max(visib)
        FROM raw_weather GROUP BY origin, time_hour""",
    "planes": "INSERT INTO lake.nyc.planes SELECT tailnum, year, manufacturer, model, engines, seats FROM raw_planes",
    "airports": "INSERT INTO lake.nyc.airports SELECT faa, name, lat, lon, alt FROM raw_airports",
}
# what an airline might send a day late: corrected delays, cancelled flights taken out, extra flights
LATE_CHANGES = """
    CREATE OR REPLACE TEMPORARY VIEW late_changes AS
    WITH last_day AS (
      SELECT make_date(year, month, day) AS flown_on, * FROM raw_flights WHERE month = 12 AND day = 31
    )
    SELECT 'correct' AS change, flown_on, carrier, flight, origin, dest, tailnum, sched_dep_time,
      dep_delay + 5 AS dep_delay, arr_delay + 5 AS arr_delay, air_time, distance, time_hour
    FROM last_day WHERE carrier IN ('UA', 'DL') AND dep_delay IS NOT NULL
    UNION ALL
    SELECT 'withdraw', flown_on, carrier, flight, origin, dest, tailnum, sched_dep_time, NULL, NULL, NULL, distance,
      time_hour
    FROM last_day WHERE dep_delay IS NULL
    UNION ALL
    SELECT 'add', flown_on, carrier, flight + 9000, origin, dest, tailnum, sched_dep_time, 0, 0, air_time, distance,
      time_hour
    FROM last_day WHERE carrier = 'B6' AND hour >= 17"""
MERGE = """
    MERGE INTO lake.nyc.flights AS f USING late_changes AS c
    ON f.flown_on = c.flown_on AND f.carrier = c.carrier AND f.flight = c.flight AND f.origin = c.origin
    WHEN MATCHED AND c.change = 'withdraw' THEN DELETE
    WHEN MATCHED THEN UPDATE SET dep_delay = c.dep_delay, arr_delay = c.arr_delay
    WHEN NOT MATCHED AND c.change = 'add' THEN INSERT *"""
QUESTIONS = {
    "Which airlines left latest on the last day of the year?": """
        SELECT carrier, count(*) AS flights, round(avg(dep_delay), 1) AS minutes_late
        FROM lake.nyc.flights WHERE flown_on = DATE'2013-12-31'
        GROUP BY carrier HAVING count(*) >= 20 ORDER BY minutes_late DESC LIMIT 5""",
    "What does the weather do to departures?": """
        SELECT CASE WHEN w.precip > 0.1 THEN 'rain' WHEN w.wind_speed > 20 THEN 'wind' ELSE 'calm' END AS weather,
          count(*) AS flights, round(avg(f.dep_delay), 1) AS minutes_late,
          round(100 * avg(CASE WHEN f.dep_delay IS NULL THEN 1 ELSE 0 END), 1) AS percent_cancelled
        FROM lake.nyc.flights AS f JOIN lake.nyc.weather AS w ON f.origin = w.origin AND f.time_hour = w.time_hour
        GROUP BY 1 ORDER BY minutes_late DESC""",
    "Which airports are flown to by the largest aeroplanes?": """
        SELECT a.name AS airport, round(avg(p.seats)) AS seats, count(*) AS flights, min(p.year) AS oldest_built
        FROM lake.nyc.flights AS f JOIN lake.nyc.planes AS p ON f.tailnum = p.tailnum
          JOIN lake.nyc.airports AS a ON f.dest = a.faa
        GROUP BY a.name HAVING count(*) > 365 ORDER BY seats DESC LIMIT 5""",
}
SNAPSHOTS = """
    SELECT snapshot_id, operation, summary['added-records'] AS added, summary['added-position-deletes'] AS deleted,
      summary['total-data-files'] AS data_files, summary['total-delete-files'] AS delete_files
    FROM lake.nyc.flights.snapshots ORDER BY committed_at"""
FILES = """
    SELECT CASE content WHEN 0 THEN 'data' ELSE 'position deletes' END AS content, count(*) AS files,
      sum(record_count) AS records, round(sum(file_size_in_bytes) / 1024) AS kib
    FROM lake.nyc.flights.files GROUP BY content ORDER BY content"""


def tell(text: str) -> None:
    print(f"[{time.monotonic() - STARTED:5.1f} s] {text}", flush=True)


def show(spark: SparkSession, query: str) -> None:
    spark.sql(query).show(20, truncate=False)


def count(spark: SparkSession, relation: str) -> int:
    return int(spark.sql(f"SELECT count(*) AS n FROM {relation}").first()["n"])


def show_table_state(spark: SparkSession) -> None:
    show(spark, SNAPSHOTS)
    show(spark, FILES)


def main(folder: Path = BUILD, months: int = 12) -> None:
    """Tells the story of the last months of the year, with all files in this folder."""
    warehouse = folder / "flights-warehouse"
    shutil.rmtree(warehouse, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    tell("starting Spark (the first time also compiles the shim, about 20 s)")
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    settings = {**quiet, "spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "4"}
    spark = sqlext.session(lake=warehouse, master="local[2]", conf=settings)
    create_views(spark, folder, months)
    tell("Spark is up")

    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.nyc")
    for table, statement in TABLES.items():
        tell(f"loading lake.nyc.{table}")
        spark.sql(statement)
        spark.sql(LOADS[table])
        tell(f"loaded lake.nyc.{table}: {count(spark, 'lake.nyc.' + table):,} rows")
    tell("flights before the late changes: snapshots and files")
    show_table_state(spark)
    before = spark.sql("SELECT snapshot_id FROM lake.nyc.flights.snapshots").first()["snapshot_id"]

    spark.sql(LATE_CHANGES)
    tell("late changes of 2013-12-31 arrive")
    show(spark, "SELECT change, count(*) AS flights FROM late_changes GROUP BY change ORDER BY change")
    tell("merging them")
    counts = spark.sql(MERGE).first()
    assert counts is not None
    inserted, updated, deleted = counts["num_inserted_rows"], counts["num_updated_rows"], counts["num_deleted_rows"]
    tell(f"merged: {updated} updated, {deleted} deleted, {inserted} inserted; no data file was rewritten")
    show_table_state(spark)

    for question, query in QUESTIONS.items():
        tell(question)
        show(spark, query)

    tell("the table as it was stays readable: VERSION AS OF the first snapshot")
    then, now = count(spark, f"lake.nyc.flights VERSION AS OF {before}"), count(spark, "lake.nyc.flights")
    assert now == then + inserted - deleted
    tell(f"rows then {then:,}, rows now {now:,}, which is {inserted} more and {deleted} fewer")
    tell(f"done; the tables are in {warehouse}, and any Iceberg engine opens that folder as a Hadoop catalog")
    spark.stop()


if __name__ == "__main__":
    main()
