"""Other people's systems and their rules."""
