"""Manifests and data files as they are opened for reading."""
