"""How a change of rows is going to be carried out: pure values and the planner that chooses among them."""
