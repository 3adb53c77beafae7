"""The changes of a table as rows with row kinds: computed from snapshots, and stored as `changelog-producer` says."""
