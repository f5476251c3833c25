"""The page in a real browser, without a network: it loads, sorts, filters, draws, fits a phone and prints."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.rows import EVIL, failed, replaced, replays, solves
from transom.bench.store.frame import to_frame
from transom.report import render, write_report

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
DRIVER = Path(os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver"))
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1280,900",
)  # fmt: skip

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(not (CHROMIUM.exists() and DRIVER.exists()), reason=f"no {CHROMIUM} or no {DRIVER} here"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(executable_path=str(DRIVER)))
    try:
        driver.execute_cdp_cmd("Network.enable", {})
        driver.set_network_conditions(offline=True, latency=0, throughput=0)
        yield driver
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, render(to_frame([*solves(4, 2, (1.0,)), *failed(), *replays()]), "Made up"))
    return path.as_uri()


@pytest.fixture
def page(browser: Any, address: str) -> Any:
    """The page, freshly loaded on a wide screen and unfolded."""
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get(address)
    unfold(browser)
    return browser


def unfold(page: Any) -> None:
    page.execute_script("for (const each of document.querySelectorAll('details')) each.open = true;")


CONTROLS = "return document.getElementById(arguments[0]).closest('.box').parentElement.querySelector(" + (
    "`:scope > .controls:has(+ .scrolls + .box #${arguments[0]})`)"
)
OVERFLOWING = """
    return [...document.querySelectorAll('.box')].filter(box => box.clientWidth).map(box => {
        const said = box.previousElementSibling;
        const shown = said !== null && said.className === "scrolls" && !said.hidden ? said.textContent : "";
        return [box.scrollWidth > box.clientWidth + 1, box.scrollHeight > box.clientHeight + 1, shown];
    });
"""


def test_tables_that_scroll_say_so(page: Any) -> None:
    for width in (1400, 420):
        size = {"width": width, "height": 740, "deviceScaleFactor": 1, "mobile": True}
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        # Sizes are told to the page between two frames: the second one has what the first one caused.
        page.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        found = page.execute_script(OVERFLOWING)
        assert len(found) > 5
        for wide, long, said in found:
            assert (wide, long) == ("more columns" in said, "more rows" in said)
        assert any(wide for wide, _, _ in found) or width > 420
    assert page.execute_script("return document.getElementById('answer').scrollWidth") <= 420


def test_a_link_of_the_first_table_opens_what_is_folded(browser: Any, address: str) -> None:
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get(address)
    assert visible(browser, "comparison-knapsack") == []
    browser.find_element("css selector", "#answer tbody a").click()
    assert len(visible(browser, "comparison-knapsack")) == 4
    assert visible(browser, "causes") == [], "the others stay folded"


def test_it_loads_without_a_word_or_a_request(page: Any, address: str) -> None:
    import json

    assert page.title == "Made up"
    assert page.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = {each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"}
    assert address in asked, "the log has requests"
    assert {url.partition(":")[0] for url in asked} <= {"file", "data", "chrome", "about"}
    assert {url for url in asked if url.startswith("file:")} == {address}
    assert page.execute_script("return document.querySelectorAll('.figures svg').length") == 6


def test_what_a_cause_holds_does_not_run(page: Any) -> None:
    assert page.title == "Made up"
    assert page.execute_script("return document.images.length") == 0
    assert EVIL in column(page, "causes", 5)


def test_a_click_sorts_and_a_second_one_turns_it_round(page: Any) -> None:
    gaps = [float(text.split()[-1].strip("<")) for text in column(page, "comparison-knapsack", 2)]
    button = heading(page, "comparison-knapsack", 2)
    button.click()
    assert sort_states(page, "comparison-knapsack")[2] == "ascending"
    assert shown_numbers(page, "comparison-knapsack", 2) == sorted(gaps)
    button.click()
    assert sort_states(page, "comparison-knapsack")[2] == "descending"
    assert shown_numbers(page, "comparison-knapsack", 2) == sorted(gaps, reverse=True)
    heading(page, "comparison-knapsack", 0).click()
    assert column(page, "comparison-knapsack", 0) == ["exact", "faulty", "greedy", "walk"]
    assert sort_states(page, "comparison-knapsack")[:3] == ["ascending", "none", "none"]


@pytest.mark.long
def test_the_keyboard_sorts_too(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    before = column(page, "comparison-knapsack", 0)
    for key in (Keys.ENTER, Keys.SPACE):
        heading(page, "comparison-knapsack", 0).send_keys(key)
    assert column(page, "comparison-knapsack", 0) == sorted(before, reverse=True)


@pytest.mark.long
def test_what_is_missing_is_sorted_last_both_ways(page: Any) -> None:
    for _ in range(2):
        heading(page, "comparison-knapsack", 11).click()
        assert column(page, "comparison-knapsack", 11)[-1] == "–"


@pytest.mark.long
def test_rows_are_filtered_by_text_and_by_choice(page: Any) -> None:
    controls = page.execute_script(CONTROLS, "failed")
    assert controls.get_attribute("class") == "controls"
    assert len(visible(page, "failed")) == 6
    text = controls.find_element("css selector", "input")
    text.send_keys("grace past")
    assert visible(page, "failed") == []
    text.clear()
    text.send_keys("PAST its")
    assert [row[3] for row in visible(page, "failed")] == ["timeout"]
    assert controls.find_element("css selector", "output").text == "1 of 6 rows"
    text.clear()
    text.send_keys("faulty")
    for select in controls.find_elements("css selector", "select"):
        if any(option.text == "crash" for option in select.find_elements("css selector", "option")):
            select.send_keys("crash")
    assert [row[3] for row in visible(page, "failed")] == ["crash"]


@pytest.mark.long
def test_an_instance_shows_its_runs_and_curves(page: Any) -> None:
    curves = "return [...document.querySelectorAll('.chart path.value')].map(path => path.getAttribute('d'))"
    first = page.execute_script(curves)
    assert len(first) == 6, "three solvers with two seeds; what failed has no curve"
    assert all(line.startswith("M") and "V" in line for line in first)
    page.find_element("id", "instance").send_keys("knapsack-b: made up, number 3")
    assert page.execute_script(curves) != first
    assert "best known value 1003" in page.find_element("id", "drill").text
    assert {row[0] for row in visible(page, "runs")} == {"exact", "walk", "greedy", "faulty"}
    button = page.find_element("css selector", ".legend button")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert len(page.execute_script(curves)) == 4
    find = page.find_element("id", "find")
    find.send_keys("number 5")
    assert page.execute_script("return document.getElementById('instance').options.length") == 1
    assert len(visible(page, "runs")) == 1, "of this one there is the failed run alone"
    assert "No run under this budget" in page.find_element("css selector", ".chart").text
    find.send_keys(" nowhere")
    assert "No instance matches all of these words" in page.find_element("id", "drill").text
    assert page.get_log("browser") == []


READ = "return arguments[0].querySelector('.reading').textContent"


def figure(page: Any, name: str) -> Any:
    holder = page.find_element("css selector", f'[data-reading*="{name}"]')
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", holder)
    return holder


def values(said: str) -> dict[str, float]:
    """Names and numbers of what a slider says."""
    return {name: float(value) for name, _, value in (part.rpartition(": ") for part in said.split(", "))}


@pytest.mark.long
def test_a_pointer_reads_the_curves_of_a_figure(page: Any) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    holder = figure(page, "knapsack-1-s-gap-over-time")
    assert page.execute_script(READ, holder) == ""
    drawing = holder.find_element("css selector", "svg")
    ActionChains(page).move_to_element_with_offset(drawing, drawing.size["width"] // 3, 0).perform()
    said = values(holder.get_attribute("aria-valuetext"))
    assert set(said) == {"time [s]", "exact", "walk", "greedy", "faulty"}
    assert page.execute_script(READ, holder).startswith(f"time [s]: {said['time [s]']:g}; mean primal gap [%]")
    assert (said["exact"], said["faulty"]) == (0, 100)
    ActionChains(page).move_to_element(page.find_element("css selector", "h1")).perform()
    assert page.execute_script(READ, holder) == ""


@pytest.mark.long
def test_values_that_are_read_are_those_that_were_drawn(page: Any) -> None:
    """At the end of the budget: the same as in the table."""
    from selenium.webdriver.common.keys import Keys

    holder = figure(page, "knapsack-1-s-gap-over-time")
    holder.send_keys(Keys.END)
    said = values(holder.get_attribute("aria-valuetext"))
    gaps = dict(zip(column(page, "comparison-knapsack", 0), column(page, "comparison-knapsack", 2), strict=True))
    for solver, gap in gaps.items():
        assert said[solver] == pytest.approx(float(gap.split()[-1]), abs=0.02 if solver != "faulty" else 100)


@pytest.mark.long
def test_the_arrow_keys_read_the_curves_of_an_instance(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    reader = page.find_element("css selector", ".chart [role=slider]")
    reader.send_keys(Keys.END)
    end = values(reader.get_attribute("aria-valuetext").replace(", seed", " seed").replace(", bound", " bound"))
    assert end["exact seed 0"] == end["exact seed 0 bound"] == 1000
    for _ in range(60):
        reader.send_keys(Keys.ARROW_LEFT)
    begin = values(reader.get_attribute("aria-valuetext").replace(", seed", " seed").replace(", bound", " bound"))
    assert begin["time [s]"] < end["time [s]"]
    assert set(begin) < set(end), "what has found nothing yet has no value"
    reader.send_keys(Keys.ESCAPE)
    assert page.execute_script(READ, reader) == ""


@pytest.mark.long
def test_a_finger_reads_the_curves(page: Any) -> None:
    size = {"width": 420, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        page.refresh()
        unfold(page)
        holder = figure(page, "knapsack-1-s-targets")
        place = holder.find_element("css selector", "svg").rect
        top = page.execute_script("return scrollY")
        touch = {"x": place["x"] + 0.9 * place["width"], "y": place["y"] + place["height"] / 2 - top}
        page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [touch]})
        page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        assert "exact: 100" in page.execute_script(READ, holder), "a finger that is lifted leaves what was read"
    finally:
        page.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


@pytest.fixture(scope="module")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """2,400 runs and names of solvers, sets and instances that would be markup."""
    folder = tmp_path_factory.mktemp("long")
    rows = [
        replaced(row, name=EVIL if row.name == "walk" else row.name, set=EVIL, label=f"{EVIL} {number}", curve=())
        for number, row in enumerate(solves(4, 200, (1.0,)))
    ]
    few = [replaced(row, name=EVIL, problem="scas", instance=EVIL) for row in solves(1, 1, (1.0,))]
    waits = [replaced(row, set=EVIL, name=f"{row.name} {EVIL}") for row in replays()]
    write_report(folder / "report.html", render(to_frame([*rows, *few, *waits]), EVIL))
    return (folder / "report.html").as_uri()


@pytest.mark.long
def test_a_long_table_is_shown_page_by_page(browser: Any, long_page: str) -> None:
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get(long_page)
    unfold(browser)
    pager = browser.find_element("css selector", ".box:has(#all-runs) + .pager")
    said = pager.find_element("css selector", "output")
    first, previous, following, last = pager.find_elements("css selector", "button")
    assert (len(visible(browser, "all-runs")), said.text) == (100, "rows 1 to 100 of 2403")
    assert not first.is_enabled()
    assert not previous.is_enabled()
    following.click()
    assert said.text == "rows 101 to 200 of 2403"
    last.click()
    assert (len(visible(browser, "all-runs")), said.text) == (3, "rows 2401 to 2403 of 2403")
    assert not following.is_enabled()
    heading(browser, "all-runs", 6).click()
    assert set(column(browser, "all-runs", 6)) == {"0", "1", "2", "3", "4", "5", "6", "7", "8"}, "100 of 9 x 12 and 3"
    heading(browser, "all-runs", 6).click()
    assert column(browser, "all-runs", 6)[0] == "199"
    controls = browser.execute_script(CONTROLS, "all-runs")
    controls.find_element("css selector", "input").send_keys("greedy 0.9")
    assert {row[3] for row in visible(browser, "all-runs")} == {"greedy"}
    assert controls.find_element("css selector", "output").text.endswith(" of 2403 rows")


def test_no_name_becomes_markup(browser: Any, long_page: str) -> None:
    """Names of jobs, solvers, sets, policies, files: in tables, in paged rows, in lists, figures and readings."""
    from selenium.webdriver.common.keys import Keys

    browser.get(long_page)
    unfold(browser)
    assert browser.title == EVIL
    reader = browser.find_element("css selector", ".chart [role=slider], [data-reading]")
    reader.send_keys(Keys.END)
    find = browser.find_element("id", "find")
    find.send_keys("<img")
    assert browser.execute_script("return document.getElementById('instance').options.length") > 0
    heading(browser, "all-runs", 3).click()
    assert set(column(browser, "all-runs", 3)) == {EVIL}
    assert browser.execute_script("return document.images.length") == 0
    assert browser.execute_script("return document.querySelectorAll('script:not([type])').length") == 1
    assert browser.get_log("browser") == []


@pytest.mark.long
def test_a_bound_is_drawn_beside_the_value(page: Any) -> None:
    lines = page.execute_script(
        "return [...document.querySelectorAll('.chart path.bound')].map(x => x.getAttribute('d'))"
    )
    assert sum(line != "" for line in lines) == 2, "exact proves, with two seeds"


CONTRAST = """
    const part = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const light = (colour) => {
        const [r, g, b] = colour.match(/[0-9.]+/g).map(Number);
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const back = (e) => {
        const own = getComputedStyle(e).backgroundColor;
        return own === "rgba(0, 0, 0, 0)" ? back(e.parentElement) : own;
    };
    return [...document.querySelectorAll(arguments[0])].map(e => {
        const both = [getComputedStyle(e)[arguments[1]], back(e)].map(light);
        return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
    });
"""
"""Contrast, after the Web Content Accessibility Guidelines, of a property of elements with the ground behind them."""


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_can_be_read_in_the_reader_s_scheme(page: Any, scheme: str) -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    try:
        ground = page.execute_script("return getComputedStyle(document.querySelector('main table th')).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
        text = "h1, h2, .lead, .answer, a, dt, dd, th, td, li, caption, .note, input, select"
        assert min(page.execute_script(CONTRAST, text, "color")) >= 4.5
        for figures in ("figure", ".chart"):
            assert min(page.execute_script(CONTRAST, f"{figures} svg text", "fill")) >= 4.5
        lines = "figure path[style*='stroke-width: 2.4'], figure path[style*='stroke-width: 0.9']"
        assert min(page.execute_script(CONTRAST, f"{lines}, .legend path", "stroke")) >= 2.2
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.long
@pytest.mark.parametrize("width", [360, 420, 800, 1400])
def test_only_tables_scroll_sideways(page: Any, width: int) -> None:
    size = {"width": width, "height": 740, "deviceScaleFactor": 2, "mobile": True}  # bars of no width
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.refresh()
    unfold(page)
    assert page.execute_script("return [innerWidth, document.documentElement.scrollWidth]") == [width, width]
    beyond = """
        const inside = (e) => e.closest('.box, svg, .unseen') === null && !e.matches('.unseen');
        return [...document.body.querySelectorAll('*')]
            .filter(e => inside(e) && e.getBoundingClientRect().right > innerWidth + 1)
            .map(e => e.outerHTML.slice(0, 80));
    """
    assert page.execute_script(beyond) == []
    boxes = "return [...document.querySelectorAll('.box')].filter(e => e.scrollWidth > e.clientWidth).length"
    assert page.execute_script(boxes) > 0, "what is wider scrolls in its own box"


@pytest.mark.long
def test_letters_of_figures_can_be_read_on_a_phone(page: Any) -> None:
    size = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.refresh()
    unfold(page)
    heights = page.execute_script(
        "return [...document.querySelectorAll('.figures svg text, .chart svg text')]"
        ".map(e => Math.min(e.getBoundingClientRect().height, e.getBoundingClientRect().width)).filter(h => h > 5)"
    )
    assert len(heights) > 50
    assert sorted(heights)[len(heights) // 2] >= 9, "of a line, in points of the screen"


@pytest.mark.long
def test_paper_gets_everything_and_no_controls(page: Any) -> None:
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        seen = "return [...document.querySelectorAll(arguments[0])].filter(e => e.checkVisibility()).length"
        for hidden in (".controls", ".scrolls", ".links", ".part > summary span"):
            assert page.execute_script(seen, hidden) == 0, hidden
        everything = "main > section, main > details, .part > summary h2, .part > div"
        assert page.execute_script(seen, everything) == page.execute_script(
            f"return document.querySelectorAll('{everything}').length"
        )
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    pdf = b64decode(page.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 50_000
    assert page.execute_script("return [...document.querySelectorAll('details')].every(each => each.open)")


def column(page: Any, table: str, place: int) -> list[str]:
    return page.execute_script(
        "return [...document.getElementById(arguments[0]).tBodies[0].rows].map(r => r.cells[arguments[1]].textContent)",
        table,
        place,
    )


def shown_numbers(page: Any, table: str, place: int) -> list[float]:
    return [float(text.split()[-1].strip("<")) for text in column(page, table, place)]


def visible(page: Any, table: str) -> list[list[str]]:
    return page.execute_script(
        "return [...document.getElementById(arguments[0]).tBodies[0].rows].filter(r => r.checkVisibility())"
        ".map(r => [...r.cells].map(c => c.textContent))",
        table,
    )


def heading(page: Any, table: str, place: int) -> Any:
    return page.find_elements("css selector", f"#{table} thead th button")[place]


def sort_states(page: Any, table: str) -> list[str]:
    return [each.get_attribute("aria-sort") for each in page.find_elements("css selector", f"#{table} thead th")]
