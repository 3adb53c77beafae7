"""Pruning: whether a row of a manifest, partition or file may match a predicate (spec: Scan Planning)."""
