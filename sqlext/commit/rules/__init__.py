"""What a table must be, by its properties, for changes by key."""
