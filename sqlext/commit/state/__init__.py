"""State of a table in its properties, which changes in the commits of rows."""
