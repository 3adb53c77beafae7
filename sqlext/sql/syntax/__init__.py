"""Tokens to frozen statements, one module per kind of statement or clause."""
