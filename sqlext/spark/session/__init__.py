"""State of one Spark session: settings, transaction, checkpoints."""
