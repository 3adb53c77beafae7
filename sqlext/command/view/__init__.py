"""Statements on views: CREATE, ALTER, DROP and SHOW."""
