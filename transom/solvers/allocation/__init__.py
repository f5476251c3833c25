"""Exact solvers of contiguous allocation on a fat tree: static, dynamic (``dcas``) and free."""
