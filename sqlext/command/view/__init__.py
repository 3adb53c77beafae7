"""Statements about views."""
