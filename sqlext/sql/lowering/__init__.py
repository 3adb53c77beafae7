"""A bound DML statement to the one SELECT that Spark runs for it."""
