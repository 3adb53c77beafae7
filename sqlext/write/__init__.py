"""Arrow batches in, data and delete files out; runs on executors and knows no session."""
