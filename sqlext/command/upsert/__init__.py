"""Upserts: new rows by primary key, which of several rows with one key is written, and how the replaced row is
found."""
