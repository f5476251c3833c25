"""Dynamic contiguous allocation, exactly."""
