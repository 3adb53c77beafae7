"""Catalogs, tables and views as Spark sees them."""
