"""SQL text to frozen statements, and statements to the SELECT that Spark runs."""
