"""The changes of a table as rows with kinds: told from its history, and stored by its `changelog-producer`."""
