"""What a table is, as facts without Spark, in words and as pictures: for the terminal, and for notebooks."""
