"""Other people's simulators: their event rules, and policies plugged into them."""
