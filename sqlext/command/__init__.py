"""Execution of statements: one module for each SQL verb, in packages by kind of statement."""
