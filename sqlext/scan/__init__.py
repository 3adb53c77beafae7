"""Scan planning: the files that may match a predicate at a snapshot, and the deletes that apply to them."""
