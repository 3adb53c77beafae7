"""Where files are and how they are opened, created, listed and deleted."""
