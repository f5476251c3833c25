"""Event rules of published programs, for cross-checks of their figures."""
