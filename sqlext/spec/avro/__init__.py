"""Avro: container files, their schemas, and records decoded as columns."""
