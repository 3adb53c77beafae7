"""Data files that something else has written, described for the manifests of a table that takes them."""
