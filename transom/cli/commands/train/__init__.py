"""``transom train``: a module per command."""
