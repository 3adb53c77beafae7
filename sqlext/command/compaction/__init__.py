"""Files written anew in a better shape: no row of the table changes."""
