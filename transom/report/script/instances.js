// The runs and curves of single instances.
const source = document.getElementById("data");
if (source === null) return;
const data = JSON.parse(source.textContent);
const place = document.getElementById("drill");
const off = new Set();

const find = element("input", { type: "search", autocomplete: "off", id: "find" });
const choose = element("select", { id: "instance" });
const under = element("select", { id: "under" });
const found = element("output", { "aria-live": "polite" });
const about = element("p", { class: "note" });
const chart = element("div", { class: "chart" });
const legend = element("div", { class: "legend", role: "group", "aria-label": "Solvers that are drawn" });
const runs = element("div");
place.append(
  element(
    "div",
    { class: "controls" },
    element("label", {}, "Find", find),
    element("label", {}, "Instance", choose),
    element("label", {}, "Budget", under),
    found,
  ),
  about,
  chart,
  legend,
  runs,
);

const names = data.instances.map((each) => `${each.set}: ${each.label}`);

function list() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const kept = choose.value;
  choose.replaceChildren();
  names.forEach((name, i) => {
    const said = name.toLowerCase();
    if (words.every((word) => said.includes(word))) choose.append(element("option", { value: i }, name));
  });
  if ([...choose.options].some((option) => option.value === kept)) choose.value = kept;
  found.textContent = `${choose.options.length} of ${names.length} instances`;
}

function budgets() {
  const present = new Set(data.instances[choose.value].runs.map((run) => run.budget));
  const kept = under.value;
  under.replaceChildren();
  data.budgets.forEach((budget, i) => present.has(i) && under.append(element("option", { value: i }, budget)));
  if ([...under.options].some((option) => option.value === kept)) under.value = kept;
  else under.selectedIndex = under.options.length - 1;
}

function show(listing) {
  if (choose.selectedIndex < 0) {
    about.textContent = "No instance matches all of these words.";
    for (const part of [chart, legend, runs]) part.replaceChildren();
    return;
  }
  const instance = data.instances[choose.value];
  if (listing) budgets();
  const best = instance.best === null ? "no solution is known" : `best known value ${number(instance.best, 12)}`;
  about.textContent =
    `${instance.problem}, size ${instance.size}, ${instance.sense === "max" ? "larger" : "smaller"} is better, ${best}.` +
    (instance.left_out ? ` ${instance.left_out} more runs are in the store, but not on this page.` : "");
  const drawnRuns = instance.runs.filter((run) => run.budget === Number(under.value));
  const solvers = [...new Set(drawnRuns.map((run) => run.solver))].sort((a, b) => a - b);
  legend.replaceChildren(
    ...solvers.map((solver) => {
      const [colour, dash] = data.looks[instance.problem][solver];
      const swatch = drawn("svg", { width: 26, height: 10, "aria-hidden": "true" });
      swatch.append(drawn("path", { d: "M1 5H25", stroke: shade(colour), "stroke-width": 2.5, "stroke-dasharray": dash }));
      const button = element("button", { type: "button", "aria-pressed": String(!off.has(solver)) });
      button.append(swatch, element("span", {}, data.solvers[solver]));
      button.addEventListener("click", () => {
        if (!off.delete(solver)) off.add(solver);
        button.setAttribute("aria-pressed", String(!off.has(solver)));
        curves(instance, drawnRuns);
      });
      return button;
    }),
  );
  curves(instance, drawnRuns);
  if (listing) tabulate(instance);
}

// Runs of one instance: what was found and proved, and why not.
const COLUMNS = [
  ["Solver", (run) => data.solvers[run.solver], "choose"],
  ["Budget", (run) => data.budgets[run.budget], "choose"],
  ["Seed", (run) => run.seed, "number"],
  ["Threads", (run) => run.threads, "number"],
  ["Outcome", (run) => run.outcome, "choose"],
  ["Status", (run) => run.status, "choose"],
  ["Value", (run) => run.value, "number"],
  ["Bound", (run) => run.bound, "number"],
  ["Gap [%]", (run) => (run.gap === null ? null : 100 * run.gap), "number"],
  ["Time [s]", (run) => run.wall ?? run.seconds, "number"],
  ["Cause", (run) => run.cause ?? "", "text"],
];

function tabulate(instance) {
  const head = element("tr");
  for (const [title, , kind] of COLUMNS) {
    const heading = element("th", { scope: "col" }, title);
    if (kind === "number") heading.className = "number";
    if (kind === "choose") heading.dataset.choose = "";
    head.append(heading);
  }
  const body = element("tbody");
  instance.runs.forEach((run, i) => {
    const row = element("tr", { "data-run": i });
    COLUMNS.forEach(([, get, kind], column) => {
      const value = get(run);
      const cell = element(column === 0 ? "th" : "td", column === 0 ? { scope: "row" } : {});
      cell.className = String(value).length < 25 ? "short" : "long";
      if (kind === "number") {
        cell.className = "number";
        cell.dataset.v = value ?? "";
        cell.textContent = number(value, column === 6 || column === 7 ? 12 : 4);
      } else {
        cell.textContent = value;
      }
      row.append(cell);
    });
    body.append(row);
  });
  const table = element("table", { id: "runs" }, element("caption", {}, "Runs of this instance"), element("thead", {}, head), body);
  const box = element("div", { class: "box tall", tabindex: "0", role: "region", "aria-label": "Runs of this instance" }, table);
  runs.replaceChildren(box);
  alive(table, box);
}

// The chart: values are solid or dashed as in the figures above, bounds thin and dotted.
const [WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM] = [400, 250, 62, 10, 8, 34];

function curves(instance, listed) {
  const shown = listed.filter((run) => !off.has(run.solver) && run.curve.length > 0);
  chart.replaceChildren();
  if (shown.length === 0) {
    chart.append(element("p", { class: "note" }, "No run under this budget found or proved anything."));
    return;
  }
  const early = 1e-5;
  const end = (run) => Math.max(run.seconds ?? run.wall ?? 0, run.curve.at(-1)[0], early * 2);
  const first = Math.max(early, Math.min(...shown.map((run) => Math.max(run.curve[0][0], early))));
  const last = Math.max(first * 10, ...shown.map(end));
  const values = shown.flatMap((run) => run.curve.map((point) => point[1])).filter((value) => value !== null);
  const bounds = shown.flatMap((run) => run.curve.map((point) => point[2])).filter((value) => value !== null);
  const told = values.length ? values : bounds;
  let [low, high] = [Math.min(...told), Math.max(...told)];
  // Bounds far away would press the values into one line.
  const room = Math.max(high - low, 0.02 * Math.abs(high)) || 1;
  for (const bound of bounds) {
    if (bound > high && bound < high + 1.5 * room) high = bound;
    if (bound < low && bound > low - 1.5 * room) low = bound;
  }
  const margin = 0.06 * Math.max(high - low, 1e-3 * Math.abs(high)) || 1;
  [low, high] = [low - margin, high + margin];
  const x = (time) => LEFT + ((WIDE - LEFT - RIGHT) * Math.log(Math.max(time, first) / first)) / Math.log(last / first);
  const y = (value) => TOP + ((HIGH - TOP - BOTTOM) * (high - value)) / (high - low);
  const svg = drawn("svg", {
    viewBox: `0 0 ${WIDE} ${HIGH}`,
    role: "img",
    "aria-label": `Value and bound against time of ${shown.length} runs; the table below has their ends.`,
  });
  const inside = { x: LEFT, y: TOP - 5, width: WIDE - LEFT - RIGHT + 5, height: HIGH - TOP - BOTTOM + 5 };
  svg.append(drawn("clipPath", { id: "inside" }, drawn("rect", inside)));
  for (const tick of steps(low, high, 5)) {
    svg.append(drawn("path", { d: `M${LEFT} ${y(tick)}H${WIDE - RIGHT}`, stroke: shade("#dddddd") }));
    svg.append(drawn("text", { x: LEFT - 5, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
  }
  for (let power = Math.ceil(Math.log10(first) - 1e-9); 10 ** power <= last * 1.0001; power += 1) {
    const at = x(10 ** power);
    svg.append(drawn("path", { d: `M${at} ${HIGH - BOTTOM}v4`, stroke: shade("#444444") }));
    svg.append(drawn("text", { x: at, y: HIGH - BOTTOM + 16, "text-anchor": "middle" }, number(10 ** power)));
  }
  svg.append(drawn("path", { d: `M${LEFT} ${TOP}V${HIGH - BOTTOM}H${WIDE - RIGHT}`, stroke: shade("#444444"), fill: "none" }));
  svg.append(drawn("text", { x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 3, "text-anchor": "middle" }, "time [s]"));
  const lines = drawn("g", { "clip-path": "url(#inside)", fill: "none" });
  const read = [];
  for (const run of shown) {
    const [colour, dash] = data.looks[instance.problem][run.solver];
    const name = `${data.solvers[run.solver]}, seed ${run.seed}`;
    const label = drawn("title", {}, `${name}: ${run.status}`);
    const group = drawn("g", { stroke: shade(colour), class: "run" }, label);
    const bound = drawn("path", { d: path(run, 2), "stroke-width": 1, "stroke-dasharray": "1 3", class: "bound" });
    const found = drawn("path", { d: path(run, 1), "stroke-width": 1.8, "stroke-dasharray": dash, class: "value" });
    group.append(bound, found);
    read.push({ name, path: found }, { name: `${name}, bound`, path: bound });
    const value = run.curve.at(-1)[1];
    if (value !== null) {
      const proved = run.proved;
      group.append(drawn("circle", { cx: x(end(run)), cy: y(value), r: proved ? 4 : 2.5, fill: shade(proved ? "#ffffff" : colour) }));
    }
    lines.append(group);
  }
  svg.append(lines);
  const reader = element("div", { "aria-label": svg.getAttribute("aria-label") }, svg);
  chart.append(reader, element("p", { class: "note" }, "Values are thick, proved bounds dotted; a ring marks a proof."));

  const axes = {
    box: [LEFT, TOP, WIDE - RIGHT, HIGH - BOTTOM],
    x: { kind: "log", low: first, high: last, label: "time [s]" },
    y: { kind: "linear", low, high, label: "value" },
  };
  readable(reader, svg, { ...axes, curves: read });

  function path(run, column) {
    let d = "";
    for (const point of run.curve) {
      if (point[column] === null) continue;
      const [px, py] = [x(point[0]).toFixed(1), y(point[column]).toFixed(1)];
      d += d === "" ? `M${px} ${py}` : `H${px}V${py}`;
    }
    return d === "" ? "" : `${d}H${x(end(run)).toFixed(1)}`;
  }
}

// Round numbers that divide a range into about so many parts.
function steps(low, high, parts) {
  const raw = (high - low) / parts;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high; i += 1) ticks.push(i * step);
  return ticks;
}

find.addEventListener("input", () => {
  const before = choose.value;
  list();
  if (choose.value !== before) show(true);
});
choose.addEventListener("change", () => show(true));
under.addEventListener("change", () => show(false));
list();
show(true);
