"""The report of a large store: seconds, size of the page, memory, and how long a browser takes to open it.

``python -m benchmarks.report [RUNS]`` makes up so many runs (100,800 by default) and prints one line; a second
one where chromium and its driver are installed.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from tests.report.rows import solves
from tests.report.test_browser import CHROMIUM, DRIVER, FLAGS
from transom.bench.store.frame import to_frame
from transom.report import render, write_report

_INSTANCES, _PROBLEMS, _BUDGETS = 100, 3, (0.1, 1.0)
_CURVE = tuple((0.001 * step, 900.0 + step, 2000.0 - step) for step in range(1, 30))


def main() -> None:
    """Make the rows, then the page, and measure the second."""
    import polars as pl

    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 100_800
    seeds = max(1, wanted // (_INSTANCES * _PROBLEMS * len(_BUDGETS) * 3))
    # One problem at a time: as objects, the rows are many times as large as their table.
    frame = pl.concat(
        [to_frame(solves(_INSTANCES, seeds, _BUDGETS, f"kind{i}", curve=_CURVE)) for i in range(_PROBLEMS)]
    )
    begun = perf_counter()
    page = render(frame)
    seconds = perf_counter() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = len(page.html.encode()) / 2**20
    print(f"{len(frame):,} runs: page of {size:.1f} MiB in {seconds:.0f} s, {memory:.0f} MiB of memory")
    if CHROMIUM.exists() and DRIVER.exists():
        with TemporaryDirectory() as folder:
            path = Path(folder) / "report.html"
            write_report(path, page)
            opened, sort, found = _opened(path.as_uri())
            print(
                f"opened in {opened:.2f} s; its {len(frame):,} rows sorted in {sort:.2f} s, filtered in {found:.2f} s"
            )


def _opened(address: str) -> tuple[float, float, float]:
    """Seconds until the page stands, the least of three, and of sorting and filtering its longest table."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in FLAGS:
        options.add_argument(flag)
    browser: Any = webdriver.Chrome(options=options, service=Service(executable_path=str(DRIVER)))
    try:
        loaded = "const [page] = performance.getEntriesByType('navigation'); return page.loadEventEnd"
        opened = min([browser.get(address), browser.execute_script(loaded)][1] for _ in range(3))
        timed = "const begun = performance.now(); {} document.body.offsetHeight; return performance.now() - begun"
        table = "const table = document.getElementById('all-runs');"
        sort = browser.execute_script(timed.format(f"{table} table.tHead.rows[0].cells[9].firstChild.click();"))
        say = "text.value = '7'; text.dispatchEvent(new Event('input', {bubbles: true}));"
        text = "const text = table.closest('.box').previousElementSibling.querySelector('input');"
        found = browser.execute_script(timed.format(f"{table} {text} {say}"))
    finally:
        browser.quit()
    return opened / 1000, sort / 1000, found / 1000


if __name__ == "__main__":
    main()
