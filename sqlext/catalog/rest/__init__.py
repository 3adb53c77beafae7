"""A catalog behind a server that speaks the Iceberg REST protocol."""
