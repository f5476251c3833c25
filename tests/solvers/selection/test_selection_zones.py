"""Search zones, against the region they stand for."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from transom.solvers.selection.zones import Zones

pytestmark = pytest.mark.fast


def covered(zones: Zones, value: tuple[int, ...]) -> bool:
    return bool((zones._bounds < np.array(value)).all(axis=1).any())


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_zones_cover_what_no_point_is_as_good_as(objectives: int) -> None:
    rng = np.random.default_rng(objectives)
    for _ in range(30):
        ceiling = rng.integers(1, 5, objectives)
        points = rng.integers(0, ceiling + 1, (int(rng.integers(0, 8)), objectives))
        zones = Zones(ceiling)
        for point in points:
            zones.add(point)
        for value in product(*(range(int(most) + 1) for most in ceiling)):
            known = any((np.array(value) <= point).all() for point in points)
            # In the first objective, a zone that no value above its bound can be in is none.
            assert covered(zones, value) == (not known)
        bounds = zones._bounds
        for i, j in product(range(len(bounds)), repeat=2):
            assert i == j or not (bounds[i] >= bounds[j]).all(), "a zone within another"


def test_closing_zones_comes_to_an_end() -> None:
    rng = np.random.default_rng(9)
    points = [tuple(point) for point in rng.integers(0, 30, (40, 3)).tolist()]
    front = {p for p in points if not any(q != p and all(x >= y for x, y in zip(q, p, strict=True)) for q in points)}
    zones, found, rounds = Zones(np.full(3, 29)), set(), 0
    while (zone := zones.largest()) is not None:
        rounds += 1
        inside = [point for point in points if (np.array(point) > zone.bound).all()]
        assert all(point[0] <= zone.most for point in inside)
        best = max(inside, default=None)
        if best is not None:
            found.add(best)
            zones.add(np.array(best))
        zones.close(zone.bound, best[0] if best else int(zone.bound[0]))
    assert front <= found
    assert rounds <= 3 * len(found) + 1
    assert len(zones) == 0
