"""The only maker of snapshots: stage, validate, commit."""
