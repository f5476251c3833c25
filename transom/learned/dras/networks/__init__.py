"""The networks of DRAS."""
