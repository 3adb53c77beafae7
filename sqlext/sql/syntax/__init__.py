"""One module for each kind of statement: tokens to a frozen value."""
