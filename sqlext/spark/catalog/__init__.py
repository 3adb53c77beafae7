"""Catalogs, tables and views in Spark's terms: types, options, time travel, descriptions."""
