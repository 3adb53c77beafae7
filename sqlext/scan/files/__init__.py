"""Reading of manifests and of the schemas of data files."""
