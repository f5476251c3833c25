"""What was run: rows in a folder, of which nothing is lost."""
