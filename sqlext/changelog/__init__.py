"""Change feeds of databases as rows with kinds, which an upsert takes."""
