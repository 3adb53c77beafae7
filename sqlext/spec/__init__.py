"""The Iceberg table format as values: no I/O, no engine."""
