"""Problems made into others that some solver takes, and solutions brought back: `apply` and `invert`, as in CVXPY."""
