"""Locations of files, and how files are read, created, listed and deleted."""
