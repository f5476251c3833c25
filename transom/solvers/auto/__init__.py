"""``auto``: a pipeline of solvers for each instance, out of a table that was learnt."""
