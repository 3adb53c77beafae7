"""The ways in which a row-level statement is written, one module each."""
