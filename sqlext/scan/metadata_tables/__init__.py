"""Metadata tables: what a table's metadata says, as rows in Iceberg's columns; a module for each family."""
