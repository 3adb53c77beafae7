"""Change feeds of databases as rows with row kinds, which an upsert takes."""
