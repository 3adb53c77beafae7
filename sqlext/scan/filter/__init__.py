"""Whether a predicate can hold in a manifest, a partition or a file (spec: Scan Planning)."""
