// What is shown, kept in the fragment of the address, so that a link opens the same view.
const VIEWS = ["nodes", "use"], COLOURS = ["mode", "wait", "user", "size", "partition", "group"];

function defaults(trace, policies) {
  const last = policies.reduce((latest, policy) => policy.end.reduce((a, b) => (b > a ? b : a), latest), -Infinity);
  return {
    from: trace.submit[0], to: Math.max(last, trace.submit[0] + 1), low: 0, high: trace.machine,
    job: null, user: null, view: "nodes", colour: "mode", shown: policies.slice(0, 2).map((policy) => policy.label),
    load: 100, size: 100, accuracy: 0, replayed: false,
  };
}

function toFragment(state, usual) {
  const words = new URLSearchParams();
  if (state.from !== usual.from || state.to !== usual.to) words.set("t", `${Math.round(state.from)}:${Math.round(state.to)}`);
  if (state.low !== usual.low || state.high !== usual.high) words.set("n", `${Math.round(state.low)}:${Math.round(state.high)}`);
  for (const name of ["job", "user", "view", "colour"]) if (state[name] !== usual[name]) words.set(name, state[name]);
  if (state.replayed || state.shown.join(",") !== usual.shown.join(",")) words.set("shown", state.shown.join(","));
  if (state.replayed) words.set("if", `${state.load}:${state.size}:${state.accuracy}`);
  return words.toString();
}

function fromFragment(text, usual, labels) {
  const words = new URLSearchParams(text.replace(/^#/, "")), state = { ...usual };
  const range = (name, least) => {
    const [a, b] = (words.get(name) || "").split(":").map(Number);
    return Number.isFinite(a) && Number.isFinite(b) && b - a >= least ? [a, b] : null;
  };
  [state.from, state.to] = range("t", 1) || [usual.from, usual.to];
  [state.low, state.high] = range("n", 1) || [usual.low, usual.high];
  for (const name of ["job", "user"]) {
    const number = words.get(name) === null ? NaN : Number(words.get(name));
    state[name] = Number.isFinite(number) ? number : null;
  }
  if (VIEWS.includes(words.get("view"))) state.view = words.get("view");
  if (COLOURS.includes(words.get("colour"))) state.colour = words.get("colour");
  const shown = (words.get("shown") || "").split(",").filter((label) => labels.includes(label));
  if (shown.length) state.shown = shown;
  const settings = (words.get("if") || "").split(":").map(Number);
  const within = ([load, size, accuracy]) => load >= 50 && load <= 200 && size >= 50 && size <= 200 && accuracy >= 0 && accuracy <= 100;
  if (settings.length === 3 && settings.every(Number.isInteger) && within(settings)) {
    [state.load, state.size, state.accuracy] = settings;
    state.replayed = true;
  }
  return state;
}
