"""One module for each kind of change that can be committed."""
