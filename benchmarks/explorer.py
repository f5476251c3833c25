"""The explorer of recorded replays in chromium: size of the page, seconds to open it, frames per second of a zoom.

``python -m benchmarks.explorer [JOBS ...]`` (24,000 and 250,000 by default) generates so many jobs of the Lublin model,
replays them under two policies and opens the page; ``python -m benchmarks.explorer TRACE`` takes a trace. It also
prints requests beyond the page itself and messages of the browser, of which there should be none.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from tests.report.test_browser import CHROMIUM, DRIVER, FLAGS
from transom.generate import generate_lublin
from transom.report.explorer.page import explorer
from transom.simulation.runs import Run, replay
from transom.traces import Workload, read_swf

_FRAMES = 120

_ZOOM = """
    const [frames, done] = arguments, canvas = document.querySelector("#panels canvas");
    const box = canvas.getBoundingClientRect(), middle = { clientX: box.left + box.width / 2, clientY: box.top + 50 };
    let left = frames, begun = 0;
    const next = (now) => {
        begun ||= now;
        if (left-- === 0) return done(frames * 1000 / (now - begun));
        const deltaY = left > frames / 2 ? -15 : 15;
        canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, ...middle }));
        requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
"""

_SLIDER = """
    const done = arguments[0], slider = document.getElementById("load"), said = document.getElementById("whatif-said");
    const begun = performance.now();
    let last = begun, longest = 0;
    const next = (now) => {
        [last, longest] = [now, Math.max(longest, now - last)];
        if (!said.textContent.startsWith("With ")) return requestAnimationFrame(next);
        requestAnimationFrame((drawn) => done([drawn - begun, Math.max(longest, drawn - last)]));
    };
    slider.value = 120;
    slider.dispatchEvent(new Event("change"));
    requestAnimationFrame(next);
"""


def main() -> None:
    """Measure one page after another."""
    asked = sys.argv[1:] or ["24000", "250000"]
    if not (CHROMIUM.exists() and DRIVER.exists()):
        sys.exit(f"no {CHROMIUM} or no {DRIVER} here")
    for each in asked:
        with TemporaryDirectory() as folder:
            _measure(_workload(each), Path(folder))


def _workload(asked: str) -> Workload:
    if not asked.isdigit():
        return read_swf(asked)
    return generate_lublin(int(asked), 4096, np.random.default_rng(1), load=0.9)


def _measure(workload: Workload, folder: Path) -> None:
    for policy in ("fcfs-easy", "sjf-easy"):
        replay(workload, Run(policy, policy), folder / "out")
    begun = perf_counter()
    page = folder / "page.html"
    page.write_text(explorer([folder / "out"]).html)
    made, size = perf_counter() - begun, page.stat().st_size / 2**20
    nodes = workload.cluster.num_nodes
    print(f"{len(workload):,} jobs on {nodes:,} nodes, two policies: {size:.1f} MiB in {made:.1f} s")
    print(f"  {_opened(page.as_uri())}", flush=True)


def _opened(address: str) -> str:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser: Any = webdriver.Chrome(options=options, service=Service(executable_path=str(DRIVER)))
    try:
        browser.set_script_timeout(300)
        browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        ready = []
        for _ in range(3):
            browser.get("about:blank")
            browser.get(address)
            ready.append(float(browser.execute_script("return document.documentElement.dataset.ready")) / 1000)
        opening, before = _cpu(browser), _cpu(browser)
        rate = browser.execute_async_script(_ZOOM, _FRAMES)
        frame = (_cpu(browser) - before) / _FRAMES
        before = _cpu(browser)
        replayed, frozen = browser.execute_async_script(_SLIDER)
        replaying = _cpu(browser) - before
        events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
        asked = {each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"}
        asked = {url for url in asked if not url.startswith(("data:", "about:", "chrome:"))} - {address}
        messages = browser.get_log("browser")
    finally:
        browser.quit()
    return (
        f"opened and drawn in {min(ready):.2f} s (slowest of three {max(ready):.2f} s; CPU time {opening:.2f} s); "
        f"zooming {rate:.0f} frames a second (CPU time of a frame {1000 * frame:.1f} ms); "
        f"a slider replays twice, first as recorded, in {replayed / 1000:.2f} s (CPU time {replaying:.2f} s) and never "
        f"keeps the page from drawing for more than {frozen:.0f} ms; {len(asked)} requests, {len(messages)} messages"
    )


def _cpu(browser: Any) -> float:
    """CPU time that the main thread of the page has taken [s]."""
    told = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(each["value"] for each in told if each["name"] == "TaskDuration"))


if __name__ == "__main__":
    main()
