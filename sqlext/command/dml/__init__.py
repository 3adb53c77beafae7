"""Statements that change rows, from SQL and from DataFrames, and those that frame them: EXPLAIN and transactions."""
