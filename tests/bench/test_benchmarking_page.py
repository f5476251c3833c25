"""The plan in docs/benchmarking.md holds every key there is, and is a plan."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from transom.bench.plan.plan import InstanceSet, Plan, TraceSet, parse_plan


def test_the_plan_on_the_page_has_every_key(root: Path, tmp_path: Path) -> None:
    page = (root / "docs" / "benchmarking.md").read_text(encoding="utf-8")
    text = re.search(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert text is not None
    raw = tomllib.loads(text[1])
    assert set(raw) == set(Plan.__struct_fields__)
    assert {key for each in raw["instances"] for key in each} == set(InstanceSet.__struct_fields__)
    assert {key for each in raw["traces"] for key in each} == set(TraceSet.__struct_fields__)
    plan = parse_plan(text[1], "the page", tmp_path)
    assert len(plan.stops()) == 5
    defaults = Plan()
    for key in ("threads", "grace", "limit", "memory", "shuffle"):  # the page says what they are
        assert getattr(plan, key) == getattr(defaults, key)
