"""What a replay leaves: recordings, checks, metrics."""
