"""Statements and writes that the shim hands over, each run by its command."""
