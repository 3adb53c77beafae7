"""Whether a change is small enough to be written on the driver."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.spark.write_job import SMALL_BYTES, estimated_bytes


def fits_driver(spark: SparkSession, query: str) -> bool:
    """Whether the optimiser's own upper estimate of the query's rows is small."""
    return estimated_bytes(spark.sql(query)) <= SMALL_BYTES
