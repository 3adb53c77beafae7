"""Metadata tables of a table, with the columns of Iceberg's Spark integration; a module for each family."""
