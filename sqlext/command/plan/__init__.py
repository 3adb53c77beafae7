"""Planning of row-level changes: facts, plans, and the planner, all without I/O."""
