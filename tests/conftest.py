"""Fixtures that everything shares."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# The first call of a kernel compiles it: the time of one example says nothing.
settings.register_profile("transom", deadline=None)
settings.load_profile("transom")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference traces and instances beside the checkout; skips where it is absent."""
    folder = ROOT.parent / "shared"
    if not (folder / "traces").is_dir():
        pytest.skip("the reference data beside the checkout (../shared) is absent")
    return folder


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


_APART = {"bench", "cli", "io", "plot", "report", "traces", "test_docs.py", "test_instances.py", "test_compiling.py"}
_DEAR = {"bench/test_library.py", "bench/test_dask_engine.py", "report/test_report.py", "report/test_browser.py"}

_FAST = {
    "generate/test_arrivals.py",
    "generate/test_demands.py",
    "generate/test_fragmented.py",
    "generate/test_jobsets.py",
    "generate/test_knapsacks.py",
    "generate/test_lublin.py",
    "generate/test_paths.py",
    "generate/test_selections.py",
    "generate/test_uniform_sizes.py",
    "generate/test_walltimes.py",
    "generate/test_windows.py",
    "heuristics/test_allocation_genetic.py",
    "heuristics/test_best_fit.py",
    "heuristics/test_dp_polish.py",
    "heuristics/test_genetic.py",
    "heuristics/test_greedy.py",
    "heuristics/test_sequential.py",
    "io/test_documents.py",
    "models/test_allocation.py",
    "models/test_arrays.py",
    "models/test_decision_rules.py",
    "models/test_efficiency.py",
    "models/test_fat_tree.py",
    "models/test_front_completeness.py",
    "models/test_hop_cost.py",
    "models/test_models.py",
    "models/test_reduction.py",
    "models/test_selection.py",
    "models/test_shortest_path.py",
    "simulation/test_allocator.py",
    "simulation/test_breakdowns.py",
    "simulation/test_further_resources.py",
    "simulation/test_metrics.py",
    "simulation/test_nodes.py",
    "simulation/test_period_policy.py",
    "simulation/test_recording.py",
    "simulation/test_runs.py",
    "simulation/test_snapshots.py",
    "simulation/test_verification.py",
    "simulation/test_window_policy.py",
    "solvers/test_budget_part.py",
    "solvers/test_csp_networkx.py",
    "solvers/test_features.py",
    "solvers/test_selection_zones.py",
    "test_arguments.py",
    "test_registry.py",
    "test_stop.py",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a file on one worker, where they compile the same kernels; others are dealt out one by one.

    Of those, files with a dear set-up stay together, so that it is made once. Files that need no compiler to be fast
    are marked as such.
    """
    for item in items:
        inside = item.path.relative_to(ROOT / "tests").parts
        if "/".join(inside) in _FAST:
            item.add_marker(pytest.mark.fast)
        together = inside[0] not in _APART or "/".join(inside) in _DEAR
        if together and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group("/".join(inside)))
