"""`sqlext` and `python -m sqlext`: tables as a terminal shows them, without a JVM but for `sqlext sql`."""
