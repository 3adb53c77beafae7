"""Removal of what a table no longer needs: expired snapshots with their files, and orphan files."""
