"""Compaction: files are rewritten in fewer or better sorted ones, without a change of rows."""
