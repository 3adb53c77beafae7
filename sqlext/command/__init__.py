"""One module for each SQL verb."""
