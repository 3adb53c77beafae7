"""What statements do: one module for each SQL verb, in rooms."""
