"""What CALL runs: one module a verb."""
