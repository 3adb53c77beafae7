"""The procedures that CALL runs: one module per verb."""
