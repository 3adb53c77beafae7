"""Metadata of tables and views, and its updates (spec: Table Metadata; view spec)."""
