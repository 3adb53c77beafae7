"""Which files answer a predicate at a snapshot, and which deletes apply to them."""
