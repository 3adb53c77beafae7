"""Queries that sqlext runs in Spark: lowered SQL, results that the driver takes, write jobs."""
