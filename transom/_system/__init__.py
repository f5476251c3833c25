"""What Transom needs of the system: files, signals, compiled code."""
