"""Manifests, and the content files that they list (spec: Manifests)."""
