"""What belongs to one session: its settings, its transaction."""
