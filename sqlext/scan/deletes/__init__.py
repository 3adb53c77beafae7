"""The deletes that apply to each data file (spec: Scan Planning; Delete Formats)."""
