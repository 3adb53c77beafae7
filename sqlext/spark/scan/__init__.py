"""Pushdown of Spark's filters and aggregates, and the answers that metadata gives to them."""
