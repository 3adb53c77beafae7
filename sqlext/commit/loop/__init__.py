"""The loop of one commit: attempts, waits, turns, and conflicts with other commits."""
