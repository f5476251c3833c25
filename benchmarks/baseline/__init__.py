"""What must stay as it is while the code gets lighter."""
