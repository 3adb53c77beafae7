"""How a change of rows gets into a table: the ways to write it, what it read, how its rows are arranged."""
