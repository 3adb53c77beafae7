"""Streaming queries of Spark: tables as their sinks and sources."""
