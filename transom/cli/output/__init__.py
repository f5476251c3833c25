"""Output for people and programs."""
