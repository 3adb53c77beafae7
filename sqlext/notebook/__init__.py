"""A table as a notebook shows it, in any session of Spark: with a Python driver, or a client of Spark Connect."""
