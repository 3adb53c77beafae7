"""Calls of Spark's JVM to Python: questions and commands with JSON answers."""
