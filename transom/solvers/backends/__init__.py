"""Foreign solvers: CP-SAT, SCIP, HiGHS, worker processes."""
