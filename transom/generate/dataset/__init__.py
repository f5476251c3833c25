"""Data sets: thousands of instances in shards, with an index and a card."""
