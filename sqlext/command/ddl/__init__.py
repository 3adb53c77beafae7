"""Statements that define tables: CREATE, REPLACE, ALTER, branches and tags, SHOW CREATE, DESCRIBE FUNCTION, UNDROP."""
