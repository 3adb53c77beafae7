"""What Spark pushes into a scan, and which of it metadata answers."""
