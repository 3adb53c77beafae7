"""Questions that Spark's JVM asks Python, and their answers as JSON."""
