"""Writing of row-level changes: the strategies, their read sets, and the distribution of new rows over tasks."""
