"""A catalog in a SQL database, in the table layout of Iceberg's JDBC catalog."""
