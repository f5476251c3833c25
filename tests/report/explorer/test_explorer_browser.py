"""The explorer in a real browser, without a network: it draws, zooms, finds, replays, fits a phone and prints."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.report.explorer.recordings import (
    BEGIN,
    DAY,
    POLICIES,
    altered,
    altered_outages,
    made_up,
    of_partitions,
    recorded,
    recorded_site,
    simulated,
    site_outages,
    with_every_outage,
)
from tests.report.rows import EVIL
from tests.report.test_browser import CHROMIUM, CONTRAST, DRIVER, browser  # noqa: F401  (a fixture)
from transom.cli import run
from transom.simulation.output.metrics import utilisation
from transom.simulation.output.recording import read_schedule
from transom.simulation.runs import Run, replay

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(not (CHROMIUM.exists() and DRIVER.exists()), reason=f"no {CHROMIUM} or no {DRIVER} here"),
]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("replays"))


@pytest.fixture(scope="module")
def address(out: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "page.html"
    assert run(["report", str(out), "-o", str(path), "--title", EVIL, "-q"]) == 0
    return path.as_uri()


@pytest.fixture
def page(browser: Any, address: str) -> Any:  # noqa: F811
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get("about:blank")
    browser.get(address)
    return browser


def state(page: Any) -> dict[str, Any]:
    return page.execute_script("return transom.state()")


def drawn(page: Any) -> Any:
    """Waits until everything is drawn and remembered."""
    return page.execute_async_script("""
        const done = arguments[0];
        requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 200)));
    """)


def colours(page: Any, canvas: str) -> int:
    """How many colours a canvas shows."""
    return page.execute_script(
        """
        const canvas = document.querySelector(arguments[0]);
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size;
        """,
        canvas,
    )


def test_it_opens_without_a_word_or_a_request(page: Any, address: str) -> None:
    assert page.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = {each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"}
    assert address in asked
    assert {url for url in asked if not url.startswith(("data:", "about:", "chrome:"))} == {address}
    assert "default-src 'none'" in page.find_element("css selector", "meta[http-equiv]").get_attribute("content")
    assert "would have" in page.find_element("css selector", ".lead").text
    assert colours(page, "#panels canvas") > 3
    assert colours(page, "#queue") > 3
    assert [page.find_element("id", each).is_displayed() for each in ("user", "card", "panels")] == [False, False, True]


def test_no_name_becomes_markup(page: Any) -> None:
    assert page.title == EVIL
    for text in ("job", "img", "1"):
        field = page.find_element("id", "find")
        field.clear()
        field.send_keys(text)
        assert EVIL in page.find_element("id", "found").text
    page.find_element("css selector", "#found button").click()
    card = page.find_element("id", "card").text
    assert card.count(EVIL) >= 2, "its name and that of its user"
    page.find_element("css selector", "#card .link").click()
    assert EVIL in page.find_element("id", "user").text
    page.find_element("id", "colour").send_keys("partition")
    assert EVIL in page.find_element("id", "legend").text
    page.execute_script("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert EVIL in page.find_element("css selector", "details").text
    assert page.execute_script("return document.images.length") == 0
    assert page.execute_script("return document.querySelectorAll('script:not([type])').length") == 1
    assert page.get_log("browser") == []


SETTINGS = [
    *({}, {"load": 115, "size": 80, "accuracy": 35}),
    *(
        pytest.param(each, marks=pytest.mark.long)
        for each in ({"load": 130}, {"load": 70}, {"size": 50}, {"accuracy": 100})
    ),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_page_replays_as_the_engine_does(page: Any, settings: dict[str, int]) -> None:
    told = page.execute_script("return transom.replay(arguments[0])", settings)
    engine = simulated(altered(made_up(), **settings))
    assert dict(zip(told["id"], told["start"], strict=True)) == engine
    assert len(engine) < 400 or settings.get("size", 100) == 100


def test_a_slider_replays_and_is_shown(page: Any) -> None:
    move = """
        const slider = document.getElementById("load");
        slider.value = 150;
        slider.dispatchEvent(new Event("change"));
    """
    page.execute_script(move)
    wait_for(page, "return document.getElementById('whatif-said').textContent.includes('load 150 %')")
    starts = simulated(altered(made_up(), load=150))
    waits = [starts[job.id] - job.submit for job in altered(made_up(), load=150).jobs]
    mean = sum(waits) / len(waits) / 3600
    assert f"mean wait {mean:.1f} h" in page.find_element("id", "whatif-said").text or mean < 2 or mean >= 10
    assert [each.text for each in page.find_elements("css selector", "#panels figcaption")] == [
        "fcfs-easy: node ids over time",
        "what if: node ids over time",
    ]
    drawn(page)
    assert "if=150%3A100%3A0" in page.find_element("id", "here").get_attribute("href")
    page.find_element("id", "whatif-off").click()
    wait_for(page, "return document.querySelectorAll('#shown label').length === 3")


@pytest.mark.long
def test_a_replay_leaves_the_page_alive_and_gives_way_to_a_later_one(page: Any) -> None:
    told = page.execute_async_script("""
        const done = arguments[0], slider = document.getElementById("load");
        const said = document.getElementById("whatif-said");
        const move = (to) => {
            slider.value = to;
            slider.dispatchEvent(new Event("change"));
            return said.textContent;
        };
        const watched = [];
        new MutationObserver(() => {
            watched.push(said.textContent);
            if (said.textContent.startsWith("With ")) setTimeout(() => done(watched), 100);
        }).observe(said, { childList: true });
        move(150);
        setTimeout(() => move(180));
    """)
    assert told[0] == "Replaying 400 jobs: 0 %"
    assert [each.partition(",")[0] for each in told if each.startswith("With ")] == ["With load 180 %"]
    assert state(page)["load"] == 180
    page.execute_script("""
        const slider = document.getElementById("load");
        slider.value = 150;
        slider.dispatchEvent(new Event("change"));
        document.getElementById("whatif-off").click();
    """)
    drawn(page)
    assert page.find_element("id", "whatif-said").text.startswith("Move a slider")
    assert len(page.find_elements("css selector", "#shown label")) == 3
    assert page.get_log("browser") == []


@pytest.mark.long
def test_a_link_shows_the_recorded_replays_at_once_and_then_its_own(page: Any, address: str) -> None:
    page.get("about:blank")
    page.get(f"{address}#shown=sjf-easy%2Cwhat+if&if=120:100:0")
    assert page.find_element("css selector", "#panels figcaption").text == "sjf-easy: node ids over time"
    wait_for(page, "return document.querySelectorAll('#panels figcaption').length === 2")
    assert state(page)["shown"] == ["sjf-easy", "what if"]
    assert "load 120 %" in page.find_element("id", "whatif-said").text


@pytest.fixture(scope="module")
def site_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = recorded_site(tmp_path_factory.mktemp("site"))
    assert run(["report", str(out), "-o", str(out.parent / "page.html"), "-q"]) == 0
    return out


@pytest.fixture
def site(browser: Any, site_out: Path) -> Any:  # noqa: F811
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get("about:blank")
    browser.get((site_out.parent / "page.html").as_uri())
    return browser


@pytest.mark.parametrize(
    "settings",
    [{"load": 115, "size": 80}, *(pytest.param(each, marks=pytest.mark.long) for each in ({}, {"size": 50}))],
    ids=str,
)
def test_the_page_replays_partitions_as_the_engine_does(site: Any, site_out: Path, settings: dict[str, int]) -> None:
    told = site.execute_script("return transom.replay(arguments[0])", settings)
    outages = altered_outages(site_outages(), settings.get("size", 100))
    engine = simulated(altered(of_partitions(), **settings), outages)
    assert dict(zip(told["id"], told["start"], strict=True)) == engine
    assert settings or engine == starts_in(site_out / "fcfs-easy")
    assert "outages" not in site.find_element("id", "whatif-said").text


def starts_in(folder: Path) -> dict[int, int]:
    """Starts by job id of a recording."""
    return dict(pl.read_parquet(folder / "jobs.parquet").select("job_id", "start").rows())


@pytest.mark.long
@pytest.mark.parametrize("on_failure", ["requeue", "lose"])
@pytest.mark.parametrize("workload", [made_up, of_partitions])
def test_the_page_replays_outages_of_every_kind_as_the_engine_does(
    browser: Any,  # noqa: F811
    tmp_path: Path,
    workload: Any,
    on_failure: str,
) -> None:
    plain, outages = workload(), with_every_outage(workload(), on_failure)
    schedule, _ = replay(plain, Run("fcfs-easy", "fcfs-easy", outages=outages), tmp_path / "out")
    assert schedule.outages is not None
    assert len(schedule.outages.job) > 5, "attempts that were ended"
    assert len(schedule.outages.lost) > 5 or on_failure == "requeue"
    open_page(browser, tmp_path / "out")
    further = ({"load": 115, "size": 80, "accuracy": 35}, {"size": 55}, {"load": 80, "size": 150})
    for settings in ({}, *(further if on_failure == "requeue" else ())):  # how long lost jobs would run nobody recorded
        told = browser.execute_script("return transom.replay(arguments[0])", settings)
        engine = simulated(altered(plain, **settings), altered_outages(outages, settings.get("size", 100)))
        assert dict(zip(told["id"], told["start"], strict=True)) == engine, settings


@pytest.mark.long
def test_the_page_replays_the_bundled_site_with_its_maintenance_as_recorded(
    browser: Any,  # noqa: F811
    root: Path,
    tmp_path: Path,
) -> None:
    site, trace = root / "instances" / "site", str(tmp_path / "site.parquet")
    assert run(["import", "slurm", str(site / "sacct.txt.gz"), "--conf", str(site / "slurm.conf"), "-o", trace]) == 0
    assert_replayed_as_recorded(browser, tmp_path, trace, "--outages", str(site / "reservations.txt"))


@pytest.mark.long
@pytest.mark.reference
@pytest.mark.parametrize("partitions", [(), ("--partition-nodes", "0=2400,1=2400")], ids=["whole", "partitions"])
@pytest.mark.parametrize("nodes", [("2000", "4360"), ("300-1299;4000-4099", "0-4359")], ids=["number", "ids"])
def test_the_page_replays_theta_with_maintenance_as_recorded(
    browser: Any,  # noqa: F811
    shared: Path,
    tmp_path: Path,
    partitions: tuple[str, ...],
    nodes: tuple[str, str],
) -> None:
    theta, begin = shared / "traces" / "theta_2022.swf.gz", 1_641_600_000
    part, whole = nodes
    (tmp_path / "maintenance.csv").write_text(
        "kind,begin,end,nodes,announced\n"
        f"maintenance,{begin},{begin + DAY},{whole},\n"
        f"maintenance,{begin + 5 * DAY},{begin + 6 * DAY},{part},{begin + 5 * DAY - 3_600}\n"
        f"maintenance,{begin + 9 * DAY},{begin + 10 * DAY},{part},\n"
        f"maintenance,{begin + 9 * DAY + 7_200},{begin + 11 * DAY},{whole},\n"
    )
    words = ("--jobs", "3000", "--outages", str(tmp_path / "maintenance.csv"), *partitions)
    assert_replayed_as_recorded(browser, tmp_path, str(halved(theta, tmp_path) if partitions else theta), *words)


def halved(theta: Path, folder: Path) -> Path:
    """The trace with every third job in a partition of its own."""
    lines = gzip.decompress(theta.read_bytes()).decode().splitlines()
    for k, line in enumerate(lines):
        fields = line.split()
        if not line.startswith(";"):
            small = int(fields[0]) % 3 == 0 and int(fields[7]) <= 1000
            lines[k] = " ".join((*fields[:15], str(int(small)), *fields[16:]))
    (folder / "theta.swf").write_text("\n".join(lines) + "\n")
    return folder / "theta.swf"


def assert_replayed_as_recorded(browser: Any, folder: Path, trace: str, *more: str) -> None:  # noqa: F811
    """The page's replay without alterations has the starts, the nodes and the use of the recorded one."""
    out = folder / "out"
    assert run(["simulate", trace, "--policy", "fcfs-easy", "--out", str(out), "--no-figures", "-q", *more]) == 0
    open_page(browser, out)
    told = browser.execute_script("return transom.replay({})")
    assert dict(zip(told["id"], told["start"], strict=True)) == starts_in(out / "fcfs-easy")
    assert browser.find_element("id", "whatif-said").text.endswith("backfilling."), "nothing is left out"
    browser.get(f"{browser.current_url}#shown=fcfs-easy%2Cwhat+if&if=100:100:0")
    wait_for(browser, "return document.getElementById('whatif-said').textContent.startsWith('With ')")
    use = utilisation(read_schedule(out / "fcfs-easy"))
    assert f"utilisation {100 * use:.1f} %" in browser.find_element("id", "whatif-said").text
    same_nodes(browser, out, "fcfs-easy", "what if")


def open_page(browser: Any, out: Path) -> None:  # noqa: F811
    """Make the page of a recording and open it."""
    assert run(["report", str(out), "-o", str(out.parent / "page.html"), "-q"]) == 0
    browser.get("about:blank")
    browser.get((out.parent / "page.html").as_uri())


HOVER = """
    const canvas = arguments[0], box = canvas.getBoundingClientRect(), { from, to, low, high } = transom.state();
    const [left, right, top, bottom] = [56, 10, 8, 24];  // of MARGIN
    const x = left + (arguments[1] - from) / (to - from) * (box.width - left - right);
    const y = top + (high - arguments[2]) / (high - low) * (box.height - top - bottom);
    const at = { clientX: box.left + x, clientY: box.top + y, pointerType: arguments[3], bubbles: true };
    canvas.dispatchEvent(new PointerEvent("pointermove", at));
    const hover = document.getElementById("hover");
    return hover.hidden ? "" : hover.innerText;
"""


@pytest.mark.long
def test_pointing_names_the_job_or_the_outage_and_its_times(site: Any, site_out: Path) -> None:
    canvas, begin = site.find_element("css selector", "#panels canvas"), int(of_partitions().jobs.submit[40])
    words = site.execute_script(HOVER, canvas, begin + DAY / 2, 20.5, "mouse").splitlines()
    assert words == ["maintenance", "node 20 is out of service", f"from {utc(begin)}", f"until {utc(begin + DAY)}"]
    row = (
        pl.read_parquet(site_out / "fcfs-easy" / "jobs.parquet")
        .filter(pl.col("start") > pl.col("submit"))
        .to_dicts()[-1]
    )
    pointed = (canvas, (row["start"] + row["end"]) / 2, row["node_ids"][0] + 0.5, "mouse")
    words = site.execute_script(HOVER, *pointed).splitlines()
    assert words[0] == f"Job {row['job_id']}"
    assert words[1].endswith(f", {row['partition']}, {row['nodes']} node{'s' if row['nodes'] > 1 else ''}")
    assert words[2:5] == [
        f"{what} {utc(row[key])}"
        for what, key in zip(("submitted", "started", "ended"), ("submit", "start", "end"), strict=True)
    ]
    assert words[5].startswith("waited ")
    assert words[6].startswith("by the log it waited ")
    assert site.execute_script(HOVER, *pointed[:3], "touch") == "", "a finger chooses a job instead"
    site.find_element("id", "view").send_keys("use")
    words = site.execute_script(
        HOVER, site.find_element("css selector", "#panels canvas"), begin + DAY / 2, 20, "mouse"
    )
    assert "20 nodes out of service" in words
    words = site.execute_script(HOVER, site.find_element("id", "queue"), begin, 20, "mouse").splitlines()
    assert [each.partition(":")[0] for each in words[1:]] == ["fcfs-easy", "as logged"]
    assert all(each.endswith(" jobs waiting") for each in words[1:])


def utc(seconds: int) -> str:
    return datetime.fromtimestamp(BEGIN + seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


@pytest.mark.long
def test_every_colouring_has_a_legend_and_outages_are_in_it(site: Any) -> None:
    names = site.execute_script("return [...document.getElementById('colour').options].map(each => each.value)")
    assert names == ["mode", "wait", "size", "user", "partition"]
    for name in names:
        site.execute_script(
            """
            const choice = document.getElementById("colour");
            choice.value = arguments[0];
            choice.dispatchEvent(new Event("change"));
            """,
            name,
        )
        entries = site.execute_script("return [...document.querySelectorAll('#legend > span')].map(e => e.innerText)")
        assert entries[-3:] == ["idle", "out of service: maintenance", "out of service: failure"]
        assert len(entries) > 4, name
        assert (name != "partition") or set(entries[:-3]) == {"large", "small"}


@pytest.mark.long
@pytest.mark.parametrize("width", [420, 1400])
def test_a_card_moves_nothing(page: Any, address: str, width: int) -> None:
    from selenium.webdriver.common.keys import Keys

    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    page.get("about:blank")
    page.get(address)
    drawn(page)
    places = """
        return [...document.querySelectorAll("canvas, h2, table, .controls")].filter(e => !e.closest("#sheet"))
            .map(e => e.getBoundingClientRect()).map(({ x, y, width, height }) => [x, y + scrollY, width, height]);
    """
    before = page.execute_script(places)
    page.find_element("id", "find").send_keys("100")
    assert page.execute_script(places) == before, "what was found lies over the page"
    page.find_element("css selector", "#found button").click()
    page.find_element("css selector", "#card .link").click()
    assert page.find_element("id", "card").is_displayed()
    assert page.find_element("id", "user").is_displayed()
    assert page.execute_script(places) == before
    page.find_element("id", "find").send_keys(Keys.ESCAPE)
    assert not page.find_element("id", "sheet").is_displayed()
    assert page.execute_script(places) == before


def wait_for(page: Any, condition: str) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(page, 300).until(lambda driver: driver.execute_script(condition))


def same_nodes(page: Any, out: Path, policy: str, shown: str = "") -> None:
    rows = pl.read_parquet(out / policy / "jobs.parquet", columns=["job_id", "node_ids"])
    for job, ids in rows.sample(40, seed=1).rows():
        runs = page.execute_script("return transom.nodeRuns(...arguments)", shown or policy, job)
        assert [node for first, last in runs for node in range(first, last + 1)] == ids


@pytest.mark.long
@pytest.mark.parametrize("policy", POLICIES[:2])
def test_node_ids_are_those_recorded(page: Any, out: Path, policy: str) -> None:
    same_nodes(page, out, policy)


@pytest.mark.long
def test_a_card_says_what_became_of_a_job(page: Any, out: Path) -> None:
    rows = [pl.read_parquet(out / policy / "jobs.parquet") for policy in POLICIES]
    job = rows[0].with_columns(wait=pl.col("start") - pl.col("submit")).sort("wait")["job_id"][-1]
    page.find_element("id", "find").send_keys(str(job))
    page.find_element("css selector", "#found button").click()
    text = page.find_element("id", "card").text
    for policy, table in zip(POLICIES, rows, strict=True):
        (row,) = table.filter(pl.col("job_id") == job).to_dicts()
        assert policy in text
        assert f"({row['mode']})" in text
    assert f"Asked for\n{row['nodes']} node" in text
    assert "were waiting when it came" in text
    assert "a reservation" in text
    assert "which freed" in text
    decisions = pl.read_parquet(out / "fcfs-easy" / "decisions.parquet")
    held = decisions.filter(pl.col("reserved_job") == job)
    assert ("It was given a reservation" in text.split("sjf-easy")[0]) == bool(len(held))
    assert state(page)["from"] < row["submit"] < state(page)["to"], "the view goes to the job"
    page.find_element("css selector", "#card .head button").click()
    assert state(page)["job"] is None


@pytest.mark.long
def test_a_click_chooses_the_job_under_it(page: Any, out: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    rows = pl.read_parquet(out / "fcfs-easy" / "jobs.parquet").filter(pl.col("nodes") > 20)
    row = rows.with_columns(run=pl.col("end") - pl.col("start")).sort("run").to_dicts()[-1]
    around = row["run"] // 4
    page.get(f"{page.current_url.partition('#')[0]}#t={row['start'] - around}:{row['end'] + around}")
    wait_for(page, f"return transom.state().from === {row['start'] - around}")
    canvas = page.find_element("css selector", "#panels canvas")
    node = row["node_ids"][len(row["node_ids"]) // 2]
    height = canvas.size["height"] - 32
    y = 8 + height * (1 - (node + 0.5) / 64) - canvas.size["height"] / 2
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    ActionChains(page).move_to_element_with_offset(canvas, 23, round(y)).click().perform()
    assert state(page)["job"] == row["job_id"]


@pytest.mark.long
def test_a_link_is_followed_while_the_view_before_it_is_still_to_be_remembered(page: Any) -> None:
    first, last = page.execute_script("""
        const { from, to } = transom.state(), third = Math.round((to - from) / 3);
        location.hash = `#t=${from + third}:${from + 2 * third}`;
        history.replaceState(null, "", "#shown=sjf-easy");  // before the event of the line above
        return [from + third, from + 2 * third];
    """)
    wait_for(page, f"return transom.state().from === {first}")
    assert state(page)["to"] == last


@pytest.mark.long
def test_wheel_and_keys_zoom_and_a_link_reopens_the_view(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    whole = state(page)
    canvas = page.find_element("css selector", "#panels canvas")
    page.execute_script(
        """
        const box = arguments[0].getBoundingClientRect(), at = { clientX: box.left + 300, clientY: box.top + 50 };
        arguments[0].dispatchEvent(new WheelEvent("wheel", { deltaY: -300, ...at }));
        """,
        canvas,
    )
    closer = state(page)
    assert whole["from"] < closer["from"] < closer["to"] < whole["to"]
    canvas.send_keys(Keys.ARROW_RIGHT)
    assert state(page)["from"] > closer["from"]
    page.find_element("id", "view").send_keys("use")
    page.find_element("id", "colour").send_keys("wait")
    page.find_element("id", "find").send_keys("200", Keys.ESCAPE)
    assert page.find_elements("css selector", "#found *") == []
    page.find_element("css selector", "#shown label:nth-child(3) input").click()
    drawn(page)
    told, link = state(page), page.find_element("id", "here").get_attribute("href")
    assert told["shown"] == list(POLICIES)
    page.get("about:blank")
    page.get(link)
    again = state(page)
    assert {**again, "from": 0, "to": 0} == {**told, "from": 0, "to": 0}
    assert abs(again["from"] - told["from"]) <= 0.5
    assert abs(again["to"] - told["to"]) <= 0.5
    assert len(page.find_elements("css selector", "#panels canvas")) == 3
    page.find_element("css selector", "#panels canvas").send_keys(Keys.HOME)
    assert state(page)["from"] == whole["from"]


@pytest.mark.long
@pytest.mark.parametrize(
    "fragment", ["t=9:1&n=x&job=<img>&user=1e999&view=no&shown=none&if=1:2", "%", "if=100:100:1e3"]
)
def test_a_broken_link_shows_the_whole(page: Any, address: str, fragment: str) -> None:
    whole = state(page)
    page.get("about:blank")
    page.get(f"{address}#{fragment}")
    assert state(page) == whole
    assert page.get_log("browser") == []


@pytest.mark.long
@pytest.mark.parametrize("width", [360, 420, 800, 1400])
def test_only_tables_scroll_sideways(page: Any, address: str, width: int) -> None:
    size = {"width": width, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.get("about:blank")
    page.get(f"{address}#job=100&user=3&if=120:100:0")
    wait_for(page, "return document.getElementById('whatif-said').textContent.includes('load 120 %')")
    assert page.execute_script("return [innerWidth, document.documentElement.scrollWidth]") == [width, width]
    page.execute_script("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    drawn(page)
    boxes = page.execute_script("""
        return [...document.querySelectorAll(".box")].map(box =>
            [box.scrollWidth > box.clientWidth + 1, box.previousElementSibling.innerText.includes("more columns")]);
    """)
    assert all(wide == said for wide, said in boxes), "tables that scroll say so"
    assert any(wide for wide, _ in boxes) or width > 500


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_can_be_read_in_the_reader_s_scheme(page: Any, address: str, scheme: str) -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    try:
        page.get("about:blank")
        page.get(f"{address}#job=100&user=3")
        text = "h1, .lead, .answer, a, dt, dd, th, td, .note, figcaption, #legend > span, #card p, #user span, select"
        assert min(page.execute_script(CONTRAST, text, "color")) >= 4.5
        assert min(page.execute_script(CONTRAST, ".sign", "borderTopColor")) >= 3
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.long
def test_paper_gets_everything_and_no_controls(page: Any) -> None:
    page.find_element("id", "find").send_keys("100")
    page.find_element("css selector", "#found button").click()
    user = page.find_element("css selector", "#card .link").text
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert f"User\n{user}\n" in page.find_element("id", "card").text
        assert not page.find_element("css selector", "#card .head button").is_displayed()
        assert page.find_element("css selector", "summary").is_displayed()
        seen = "return [...document.querySelectorAll(arguments[0])].filter(e => e.getClientRects().length).length"
        assert page.execute_script(seen, ".controls") == 0
        assert page.execute_script(seen, "canvas") == 4
        assert colours(page, "#panels canvas") > 3
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    pdf = b64decode(page.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert len(pdf) > 20_000
