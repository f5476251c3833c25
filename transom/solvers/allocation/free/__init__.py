"""Free allocation, exactly."""
