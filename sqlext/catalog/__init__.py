"""Names of tables and views, and the compare-and-swap of a table's current metadata."""
