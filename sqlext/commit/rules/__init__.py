"""Rules for the properties, key and partitioning of tables that are written by key."""
