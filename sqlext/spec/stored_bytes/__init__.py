"""Bytes as files have them: compressed, and with checksums."""
