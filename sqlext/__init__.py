"""sqlext: Iceberg tables with primary keys for PySpark."""
