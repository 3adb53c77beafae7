"""Metadata of tables and views, and what changes it (spec: Table Metadata; view spec)."""
