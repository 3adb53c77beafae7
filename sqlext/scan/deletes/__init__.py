"""Which deletes apply to which data files (spec: Scan Planning; Delete Formats)."""
