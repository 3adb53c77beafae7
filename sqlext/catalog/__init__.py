"""Names of tables, and the one compare-and-swap that moves a table's metadata pointer."""
