// The page: policies beside one another on one axis of time, and what readers do to them.
const page = { data: JSON.parse(document.getElementById("data").textContent) };
page.trace = decodedTrace(page.data);
page.recorded = page.data.policies.map((told) => decodedPolicy(told, page.trace));
page.policies = page.recorded;
page.log = decodedLog(page.data, page.trace);
if (page.log) page.log.steps = stepsOf(page.log, page.trace.nodes);
page.epoch = page.data.epoch;
page.users = new Map();
for (const user of page.trace.user) if (user >= 0) page.users.set(user, (page.users.get(user) || 0) + 1);
{
  let places = null;
  page.placeOf = (id) => {
    places ||= new Map(Array.from(page.trace.id, (job, place) => [job, place]));
    return places.has(id) ? places.get(id) : -1;
  };
}

const DRAWN_RUNS = 2 ** 22; // node ids beyond so many pieces are not drawn

// What drawing needs, made when a policy is first shown.
function completed(policy) {
  if (policy.longest !== undefined) return policy;
  policy.steps ||= stepsOf(policy, page.trace.nodes);
  policy.named = namedOutages(policy);
  policy.longest = policy.byStart.reduce((most, job) => Math.max(most, policy.end[job] - policy.start[job]), 0);
  policy.runs ||= lowestIdle(policy, page.trace.nodes, policy.steps.byEnd);
  if (policy.runs.first.length > DRAWN_RUNS) policy.runs = null;
  return policy;
}

const usual = defaults(page.trace, page.recorded);
const labels = () => page.policies.map((policy) => policy.label);
let state = { ...usual };

const panels = document.getElementById("panels"), legend = document.getElementById("legend"), shown = document.getElementById("shown");
const sheet = document.getElementById("sheet");
const canvases = new Map();
const lines = { // of the policies that are shown, and of the log
  queue: { what: "jobs waiting", steps: "queued" }, use: { what: "nodes in use", steps: "used" },
};
const lookOf = (policy) => (policy === page.log ? LOGGED : LINES[page.policies.indexOf(policy) % LINES.length]);
const series = (name) => [...[...canvases.keys()].map(completed), ...(page.log ? [page.log] : [])]
  .map((policy) => [lookOf(policy), policy.label, policy.steps[lines[name].steps]]);
let waiting = 0;

function draw() {
  waiting = 0;
  for (const [policy, canvas] of canvases) drawSchedule(canvas, page, completed(policy), state);
  for (const name in lines) drawLines(document.getElementById(name), page, state, series(name));
}

function redraw() {
  if (!waiting) waiting = requestAnimationFrame(draw);
}

function remember() {
  const text = toFragment(state, usual);
  document.getElementById("here").setAttribute("href", `#${text}`);
  if (location.hash.slice(1) !== text) history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}

let remembering = 0;
function show(change) {
  state = { ...state, ...change };
  const least = Math.min(60, usual.to - usual.from);
  state.to = Math.max(state.to, state.from + least);
  redraw();
  clearTimeout(remembering);
  remembering = setTimeout(remember, 150);
}

// The panels of the policies that are shown, the choice of them, and the legend.
function arrange() {
  const chosen = page.policies.filter((policy) => state.shown.includes(policy.label));
  canvases.clear();
  panels.replaceChildren(...chosen.map((policy) => {
    const canvas = element("canvas", { tabindex: "0", role: "img", "aria-label": `Schedule under ${policy.label}` });
    canvases.set(policy, canvas);
    setUpPointer(canvas, policy);
    setUpHover(canvas, (time, y) => scheduleWords(page, completed(policy), state, time, nodeAt(y)));
    return element("figure", {}, element("figcaption", {}, `${policy.label}: ${state.view === "nodes" ? "node ids" : "nodes in use"} over time`), canvas);
  }));
  const named = (policy, ...before) => {
    const [colour, dash] = lookOf(policy), sign = element("span", { class: "sign" });
    sign.style.borderTopColor = shade(colour);
    sign.style.borderTopStyle = dash.length ? (policy === page.log ? "dotted" : "dashed") : "solid";
    return element(before.length ? "label" : "span", {}, ...before, sign, policy.label);
  };
  shown.replaceChildren(...page.policies.map((policy) => {
    const box = element("input", { type: "checkbox" });
    box.checked = state.shown.includes(policy.label);
    box.addEventListener("change", () => {
      const kept = labels().filter((label) => (label === policy.label ? box.checked : state.shown.includes(label)));
      show({ shown: kept.length ? kept : [policy.label] });
      arrange();
    });
    return named(policy, box);
  }), ...(page.log ? [named(page.log)] : []));
  legend.replaceChildren(...legendOf(chosen));
  document.getElementById("view").value = state.view;
  document.getElementById("colour").value = state.colour;
  if (state.job !== null) page.policies.forEach(completed);
  showChosen();
  redraw();
}

// Every colour and pattern of the panels that are shown.
function legendOf(chosen) {
  const told = chosen.map((policy) => classed(page, state.colour, policy)), { classes } = told[0];
  const patch = (look, name) => element("span", {}, element("span", { class: `patch ${look}` }), name);
  const entries = classes.flatMap(([name, colour], i) => {
    if (!told.some(({ present }) => present.has(i))) return [];
    const entry = patch("", name);
    entry.firstChild.style.backgroundColor = shade(colour);
    return [entry];
  });
  const out = new Set(chosen.flatMap((policy) => policy.outages.map(({ kind }) => kind)));
  return [...entries, patch("blank", "idle"), ...Array.from(out, (kind) => patch(kind, `out of service: ${kind}`))];
}

function chooseJob(id, centred = false) {
  const place = id === null ? -1 : page.placeOf(id), change = { job: place < 0 ? null : id };
  hover(null);
  if (place >= 0 && centred) {
    const policies = page.policies.filter((policy) => !Number.isNaN(policy.start[place]));
    const from = Math.min(...policies.map((policy) => policy.submit[place])), to = Math.max(...policies.map((policy) => policy.end[place]));
    const around = Math.max(600, 0.25 * (to - from));
    Object.assign(change, { from: from - around, to: to + around });
  }
  show(change);
  for (const policy of page.policies) completed(policy);
  showChosen();
}

// The card of the chosen job and the line of the chosen user, over the page: nothing moves when they come or go.
function showChosen() {
  showCard(page, state.job === null ? -1 : page.placeOf(state.job), (id) => chooseJob(id));
  showUser(page, state.user, chooseUser);
  sheet.hidden = [...sheet.children].every((each) => each.hidden);
}

function chooseUser(user) {
  show({ user });
  showChosen();
}
page.chooseUser = chooseUser;

function zoom(factor, share = 0.5, nodes = 1, height = 0.5) {
  const time = state.from + share * (state.to - state.from), node = state.high - height * (state.high - state.low);
  const wide = Math.min(4 * (usual.to - usual.from), Math.max(60, (state.to - state.from) * factor));
  const high = Math.min(usual.high, Math.max(1, (state.high - state.low) * nodes));
  const low = Math.min(usual.high - high, Math.max(0, node - (1 - height) * high));
  show({ from: time - share * wide, to: time + (1 - share) * wide, low, high: low + high });
}

function pan(share, nodes = 0) {
  const by = share * (state.to - state.from), high = state.high - state.low;
  const low = Math.min(usual.high - high, Math.max(0, state.low + nodes * high));
  show({ from: state.from + by, to: state.to + by, low, high: low + high });
}

const KEYS = {
  ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1), ArrowUp: () => pan(0, 0.1), ArrowDown: () => pan(0, -0.1),
  "+": () => zoom(0.8), "-": () => zoom(1.25), Home: () => show({ from: usual.from, to: usual.to, low: usual.low, high: usual.high }),
};

const nodeAt = (y) => Math.floor(state.high - y * (state.high - state.low));

// The place of the pointer in a plot, in shares of it.
function placeOn(canvas, event) {
  const box = canvas.getBoundingClientRect();
  const width = box.width - MARGIN.left - MARGIN.right, height = box.height - MARGIN.top - MARGIN.bottom;
  return { x: (event.clientX - box.left - MARGIN.left) / width, y: (event.clientY - box.top - MARGIN.top) / height };
}

// Words for an instant and a share of the height, beside a pointer that is over the plot and holds nothing.
function setUpHover(canvas, words) {
  canvas.addEventListener("pointermove", (event) => {
    const { x, y } = placeOn(canvas, event);
    const over = event.pointerType === "mouse" && !event.buttons && x >= 0 && x < 1 && y >= 0 && y < 1;
    hover(over ? words(state.from + x * (state.to - state.from), y) : null, event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => hover(null));
}

// Drag to move, wheel or two fingers to zoom (with Shift: the nodes), click to choose a job.
function setUpPointer(canvas, policy) {
  const down = new Map(), place = (event) => placeOn(canvas, event);
  let moved = 0, apart = 0;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = place(event), delta = event.deltaY || event.deltaX, factor = Math.exp(Math.max(-1, Math.min(1, delta / 300)));
    if (event.shiftKey) zoom(1, at.x, factor, at.y);
    else zoom(factor, at.x);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    down.set(event.pointerId, place(event));
    canvas.setPointerCapture(event.pointerId);
    [moved, apart] = [0, 0];
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    if (!before) return;
    const now = place(event);
    down.set(event.pointerId, now);
    if (down.size === 1) {
      moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
      pan(before.x - now.x, state.high - state.low < usual.high ? now.y - before.y : 0);
      return;
    }
    const [a, b] = [...down.values()], wide = Math.hypot(a.x - b.x, a.y - b.y);
    if (apart) zoom(apart / Math.max(0.01, wide), (a.x + b.x) / 2);
    [apart, moved] = [wide, 1];
  });
  const lift = (event) => {
    const at = place(event);
    if (down.delete(event.pointerId) && event.type === "pointerup" && moved < 0.01 && down.size === 0) {
      const time = state.from + at.x * (state.to - state.from);
      const job = state.view === "nodes" ? jobAt(completed(policy), time, nodeAt(at.y)) : null;
      sheet.classList.toggle("above", event.clientY > innerHeight / 2); // not over what was clicked
      if (job !== null) chooseJob(page.trace.id[job]);
    }
    apart = 0;
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("keydown", (event) => {
    if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });
}

// Sliders: the replay of the page stands beside the recorded ones. A later setting replaces one that is still replayed.
let settled = 0;
const sliders = setUpSliders(page, (settings) => applySettings(settings));

async function applySettings(settings) {
  const mine = ++settled, wanted = () => mine === settled;
  if (!settings.replayed) return put(null, settings);
  const share = (begin, width) => (done) => sliders.report(begin + width * done);
  const half = page.usual ? 0 : 0.5;
  sliders.report(0);
  await new Promise((resume) => requestAnimationFrame(() => setTimeout(resume))); // lets that be seen
  if (!wanted()) return false;
  if (!page.usual) {
    const usual = await inSlices(whatIf(page.trace, { load: 100, size: 100, accuracy: 0 }), wanted, share(0, half));
    if (usual) page.usual = figuresOf(page, usual);
  }
  const policy = wanted() ? await inSlices(drawable(settings), wanted, share(half, 1 - half)) : null;
  return policy && put(policy, settings);
}

function* drawable(settings) {
  const policy = yield* whatIf(page.trace, settings);
  yield 1;
  policy.steps = stepsOf(policy, page.trace.nodes);
  yield 1;
  return completed(policy);
}

function put(policy, settings) {
  page.policies = policy ? [...page.recorded, policy] : page.recorded;
  const known = labels(), kept = state.shown.filter((label) => known.includes(label));
  const both = policy && !kept.includes(policy.label) ? [...kept.slice(0, 1), policy.label] : kept;
  show({ ...settings, shown: both.length ? both : known.slice(0, 2) });
  sliders.tell(state, policy);
  arrange();
  return true;
}

// The recorded replays are there at once, that of the page when it is done.
function restore(hash) {
  const told = fromFragment(hash, usual, [...page.recorded.map((policy) => policy.label), "what if"]);
  const { load, size, accuracy, shown: asked } = told, settings = { load, size, accuracy, replayed: told.replayed && !page.trace.refused };
  const named = new URLSearchParams(hash.slice(1)).has("shown");
  const choose = () => {
    if (!named) return;
    const known = asked.filter((label) => labels().includes(label));
    show({ shown: known.length ? known : usual.shown });
    arrange();
  };
  settled++;
  state = told;
  put(null, settings);
  choose();
  if (settings.replayed) applySettings(settings).then((done) => done && choose());
}

for (const name of ["view", "colour"]) {
  const choice = document.getElementById(name);
  const known = { user: page.users.size, group: page.trace.texts.group, partition: page.trace.texts.partition };
  for (const option of [...choice.options]) if (option.value in known && !known[option.value]) option.remove();
  choice.addEventListener("change", () => {
    show({ [name]: choice.value });
    arrange();
  });
}
document.getElementById("all").addEventListener("click", KEYS.Home);
document.getElementById("closer").addEventListener("click", KEYS["+"]);
document.getElementById("wider").addEventListener("click", KEYS["-"]);
for (const name in lines) setUpHover(document.getElementById(name), (time) => lineWords(page, series(name), time, lines[name].what));
setUpSearch(page, chooseJob, chooseUser);
for (const box of document.querySelectorAll(".box")) sayIfScrolling(box);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || sheet.hidden) return;
  chooseUser(null);
  chooseJob(null);
});
window.addEventListener("resize", redraw);
// The address may have been remembered anew since: the event says what was asked for.
window.addEventListener("hashchange", (event) => restore(new URL(event.newURL).hash));
window.addEventListener("beforeprint", draw);
window.addEventListener("afterprint", redraw);
matchMedia("print").addEventListener("change", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
restore(location.hash);
draw();
document.documentElement.dataset.ready = String(Math.round(performance.now()));

// For scripts: a replay of the page and node ids by the ids of jobs, and what is shown.
window.transom = Object.freeze({
  replay(settings) {
    const work = whatIf(page.trace, { load: 100, size: 100, accuracy: 0, ...settings });
    let told = work.next();
    while (!told.done) told = work.next();
    const policy = told.value;
    return { id: Array.from(policy.byStart, (job) => page.trace.id[job]), start: Array.from(policy.byStart, (job) => policy.start[job]) };
  },
  nodeRuns(label, id) {
    const { runs } = completed(page.policies.find((policy) => policy.label === label)), job = page.placeOf(id);
    return Array.from({ length: runs.count[job] }, (_, i) => [runs.first[runs.begin[job] + i], runs.last[runs.begin[job] + i]]);
  },
  state: () => ({ ...state }),
});
