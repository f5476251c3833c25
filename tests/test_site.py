"""The documentation site builds without a warning, and its links lead somewhere."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = [
    pytest.mark.skipif(find_spec("sphinx") is None, reason="the extra 'docs' is not installed"),
    pytest.mark.xdist_group("site"),
]


class Page(HTMLParser):
    """The ids of a page and what it refers to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.targets.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(made / "doctrees"), "docs"]
    done = subprocess.run([*command, str(made / "html")], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return made / "html"


def test_internal_links_lead_to_files_and_anchors(site: Path) -> None:
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 30
    broken, checked = [], 0
    for path, page in pages.items():
        for target in page.targets:
            if ":" in target.split("/")[0]:  # https:, mailto:, data:
                continue
            address, anchor = urldefrag(target)
            there = (path.parent / unquote(address.partition("?")[0])).resolve() if address else path
            checked += 1
            if not there.is_file() or (anchor and there in pages and unquote(anchor) not in pages[there].ids):
                broken.append(f"{path.relative_to(site.resolve())}: {target}")
    assert checked > 1000
    assert not broken, "\n".join(broken)


def test_pages_request_nothing_from_the_network(site: Path) -> None:
    """Scripts, styles, fonts and formulas come with the site; only links that a reader follows lead out of it."""
    loading = re.compile(
        r"<(?!a\b)[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]*|@import[^;]*//|url\([\"']?(?:https?:)?//[^)]*"
    )
    for path in (*site.rglob("*.html"), *site.rglob("*.css")):
        assert not loading.findall(path.read_text(encoding="utf-8")), path
    assert '<svg role="img" aria-label="' in (site / "api" / "models.html").read_text(encoding="utf-8")


def test_types_are_named_as_in_the_code(site: Path) -> None:
    pages = [path.read_text(encoding="utf-8") for path in (site / "api").glob("*.html")]
    assert not any("TypeAliasForwardRef" in page or "Like[" in page for page in pages)
    assert any("ArrayLike" in page for page in pages)


def test_pictures_are_drawn_by_the_script_and_small() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "figures" / "draw.py"))
    drawn = {draw.__name__ for draw in script["FIGURES"] if draw().axes}
    pictures = list((ROOT / "docs" / "figures").glob("*.png"))
    by_benchmarks = {f"deepjs_figure_{number}" for number in (4, 5, 6, 7)}  # python -m benchmarks.deepjs
    by_benchmarks.add("mars_figure_4")  # python -m benchmarks.mars_curves
    assert {path.stem for path in pictures} == drawn | by_benchmarks
    assert all(path.stat().st_size < 150_000 for path in pictures)


@pytest.mark.parametrize(
    "anchor",
    ["transom.solve", "transom.simulate", "transom.check", "transom.models.Knapsack", "transom.simulation.Policy"],
)
def test_public_names_are_documented(site: Path, anchor: str) -> None:
    assert any(f'id="{anchor}"' in path.read_text(encoding="utf-8") for path in (site / "api").glob("*.html"))
