"""Statements that define tables: CREATE, REPLACE, ALTER, branches and tags, SHOW CREATE, UNDROP."""
