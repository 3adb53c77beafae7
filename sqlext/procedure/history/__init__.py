"""Procedures that read the history of a table, move its branches, or take a snapshot back."""
