"""Queries that sqlext has Spark run: lowered SQL, the rows that the driver takes, the job that writes."""
