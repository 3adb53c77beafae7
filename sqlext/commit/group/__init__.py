"""Changes of many threads and processes that land in one commit."""
