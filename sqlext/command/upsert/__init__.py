"""Rows that go in by their keys: which row of a key counts, and how the row that it replaces is found."""
