"""Procedures that make tables of files and metadata of others."""
