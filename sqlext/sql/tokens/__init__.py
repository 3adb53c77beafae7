"""SQL text as tokens: names, strings, literals and slices of expressions."""
