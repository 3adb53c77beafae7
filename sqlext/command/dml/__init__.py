"""Statements that change rows, from SQL and from DataFrames, with EXPLAIN, RESTORE and transactions."""
