"""Commits: stage, validate, compare-and-swap. All snapshots are made here."""
