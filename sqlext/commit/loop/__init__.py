"""One commit: attempts, their pace and turn, and which commits of others conflict with it."""
