// A schedule as picture: a pixel is the job that holds its node at its instant, both taken at the pixel's centre.
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c6bb1", "#a6761d", "#66a61e", "#e7298a"];
const WAITS = [
  [60, "#8cc5e3", "under a minute"], [3600, "#3a93c3", "under an hour"], [28800, "#1f5fa8", "under 8 h"],
  [86400, "#e69f00", "under a day"], [Infinity, "#c4161c", "a day or longer"],
];
const MODE_COLOURS = ["#0072b2", "#e69f00", "#009e73"];
const MODE_MEANINGS = { ready: "in its turn", reserved: "held a reservation before", backfilled: "ahead of a reservation" };
const OTHERS = "#8d949b";

// How jobs are coloured: classes [label, colour], and the class of a job under a policy.
function colouring(page, kind, policy) {
  const { trace, data } = page;
  if (kind === "wait") {
    const wait = (job) => policy.start[job] - policy.submit[job];
    return { classes: WAITS.map(([, colour, label]) => [label, colour]), of: (job) => WAITS.findIndex(([below]) => wait(job) < below) };
  }
  if (kind === "user") return heaviest(page, trace.user, (user) => userName(page, user), "user");
  if (kind === "size") {
    const edges = [2, 8, 32, 128, 512, 2048, Infinity];
    const labels = ["1 node", "2-7 nodes", "8-31", "32-127", "128-511", "512-2047", "2048 nodes and more"];
    return { classes: labels.map((label, i) => [label, PALETTE[i]]), of: (job) => edges.findIndex((edge) => trace.nodes[job] < edge) };
  }
  const text = trace.texts[kind];
  if (text) return heaviest(page, text.of, (place) => text.names[place] || "none", kind);
  return { classes: data.modes.map((name, i) => [`${name} (${MODE_MEANINGS[name]})`, MODE_COLOURS[i]]), of: (job) => policy.mode[job] };
}

// Whoever has the most node-seconds has a colour of its own, all others share one.
function heaviest(page, column, named, what) {
  const { nodes, runtime } = page.trace, held = new Map();
  column.forEach((value, job) => held.set(value, (held.get(value) || 0) + nodes[job] * runtime[job]));
  const order = [...held.keys()].sort((a, b) => held.get(b) - held.get(a) || a - b), own = order.slice(0, PALETTE.length);
  const classes = own.map((value, i) => [named(value), PALETTE[i]]), place = new Map(own.map((value, i) => [value, i]));
  if (order.length > own.length) classes.push([`${counted(order.length - own.length, `other ${what}`)}`, OTHERS]);
  return { classes, of: (job) => place.get(column[job]) ?? own.length };
}

// The same with the class of every job, kept, and which classes there are.
function classed(page, kind, policy) {
  policy.classed ||= {};
  if (!policy.classed[kind]) {
    const { classes, of } = colouring(page, kind, policy), all = new Uint8Array(page.trace.count);
    for (const job of policy.byStart) all[job] = of(job);
    policy.classed[kind] = { classes, of: all, present: new Set(policy.byStart.map((job) => all[job])) };
  }
  return policy.classed[kind];
}

// Nodes out of service are hatched, by what took them out: the pattern at a pixel, in strokes of `scale`.
const HATCHES = {
  maintenance: (x, y, scale) => (x + y) % (7 * scale) < 2 * scale,
  failure: (x, y, scale) => x % (4 * scale) < 2 * scale && y % (4 * scale) < 2 * scale,
  drain: (x, y, scale) => (x + 7 * scale * 4096 - y) % (7 * scale) < scale,
};

const packedColour = (text, alpha = 255) => {
  const number = parseInt(text.slice(1), 16);
  return ((alpha << 24) | ((number & 255) << 16) | (number & 0xff00) | (number >> 16)) >>> 0;
};

function mixed(colour, paper, share) {
  const part = (shift) => {
    const [a, b] = [colour, paper].map((text) => (parseInt(text.slice(1), 16) >> shift) & 255);
    return Math.round(a * share + b * (1 - share));
  };
  return `#${((part(16) << 16) | (part(8) << 8) | part(0)).toString(16).padStart(6, "0")}`;
}

// The places in byStart of jobs that may run between two instants.
function visible(policy, from, to) {
  const by = (value) => {
    let low = 0, high = policy.byStart.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (policy.start[policy.byStart[middle]] < value) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [by(from - policy.longest), by(to)];
}

// The picture of the plot alone, into the one of the last frame; axes are drawn beside it.
function rasterised(page, policy, state, { width, height }, { paper, soft, seen }, scale) {
  if (!policy.image || policy.image.width !== width || policy.image.height !== height) policy.image = new ImageData(width, height);
  const { image } = policy, pixels = new Uint32Array(image.data.buffer).fill(0);
  const { classes, of } = classed(page, state.colour, policy);
  const strong = classes.map(([, colour]) => packedColour(seen(colour)));
  const faint = classes.map(([, colour]) => packedColour(mixed(seen(colour), paper, 0.22)));
  const right = width / (state.to - state.from), down = height / (state.high - state.low);
  const { start, end, byStart, runs } = policy, { user } = page.trace;
  const [begin, stop] = visible(policy, state.from, state.to);
  if (state.view === "use" || !runs) {
    if (policy.out) hatchedLevel(policy, state, { pixels, width, height, scale, ink: packedColour(soft) });
    stackedUse(page, policy, state, { pixels, width, height, strong, of, begin, stop });
    return image;
  }
  const across = (time) => Math.min(width, Math.max(0, Math.ceil((time - state.from) * right - 0.5)));
  const downwards = (node) => Math.min(height, Math.max(0, Math.ceil((state.high - node) * down - 0.5)));
  for (const { kind, begin: from, end: to, first, last } of policy.outages) {
    const at = { x0: across(from), x1: across(to), y0: downwards(last + 1), y1: downwards(first) };
    hatched(pixels, width, at, HATCHES[kind], scale, packedColour(soft));
  }
  for (let k = begin; k < stop; k++) {
    const job = byStart[k];
    const x0 = across(start[job]), x1 = across(end[job]);
    if (x1 <= x0) continue;
    const told = state.user === null || user[job] === state.user;
    const colour = (told ? strong : faint)[of[job]];
    for (let r = runs.begin[job], over = r + runs.count[job]; r < over; r++) {
      const y0 = downwards(runs.last[r] + 1), y1 = downwards(runs.first[r]);
      for (let y = y0; y < y1; y++) {
        const row = y * width;
        if (x1 - x0 > 16) pixels.fill(colour, row + x0, row + x1);
        else for (let x = row + x0; x < row + x1; x++) pixels[x] = colour; // shorter than a call takes
      }
    }
  }
  return image;
}

function hatched(pixels, width, { x0, x1, y0, y1 }, hatch, scale, ink) {
  for (let y = y0; y < y1; y++) for (let x = x0; x < x1; x++) if (hatch(x, y, scale)) pixels[y * width + x] = ink;
}

// How many nodes are out of service, from the top downwards: means over the time of each column of pixels.
function hatchedLevel(policy, state, { pixels, width, height, scale, ink }) {
  const row = (nodes) => Math.min(height, Math.max(0, Math.round((state.high - nodes) / (state.high - state.low) * height)));
  const hatch = HATCHES[policy.outages.every(({ kind }) => kind === policy.outages[0].kind) ? policy.outages[0].kind : "maintenance"];
  binMeans(policy.out, state.from, state.to, width).forEach((out, x) => {
    hatched(pixels, width, { x0: x, x1: x + 1, y0: row(policy.machine), y1: row(policy.machine - out) }, hatch, scale, ink);
  });
}

// Nodes in use by class, stacked: means over the time of each column of pixels.
function stackedUse(page, policy, state, { pixels, width, height, strong, of, begin, stop }) {
  const change = strong.map(() => new Float64Array(width + 2)); // differences of differences: a job covers parts of columns
  const right = width / (state.to - state.from), { nodes, user } = page.trace;
  const ramp = (slope, x, amount) => { // from x on, `amount` more
    const column = Math.floor(x), inside = x - column;
    if (column >= width) return;
    slope[column] += amount * (1 - inside);
    slope[column + 1] += amount * inside;
  };
  for (let k = begin; k < stop; k++) {
    const job = policy.byStart[k];
    if (state.user !== null && user[job] !== state.user) continue;
    const x0 = Math.max(0, (policy.start[job] - state.from) * right), x1 = Math.min(width, (policy.end[job] - state.from) * right);
    if (x1 <= x0) continue;
    const slope = change[of[job]];
    ramp(slope, x0, nodes[job]);
    ramp(slope, x1, -nodes[job]);
  }
  const level = strong.map(() => 0), down = height / (state.high - state.low);
  for (let x = 0; x < width; x++) {
    let below = 0;
    for (let c = 0; c < strong.length; c++) {
      level[c] += change[c][x];
      const top = below + level[c];
      const y0 = Math.max(0, Math.round((state.high - top) * down)), y1 = Math.min(height, Math.round((state.high - below) * down));
      for (let y = y0; y < y1; y++) pixels[y * width + x] = strong[c];
      below = top;
    }
  }
}

// The job that holds a node at an instant, or null.
function jobAt(policy, time, node) {
  if (!policy.runs) return null;
  const [begin, stop] = visible(policy, time, time + 1);
  for (let k = begin; k < stop; k++) {
    const job = policy.byStart[k];
    if (policy.start[job] > time || policy.end[job] <= time) continue;
    for (let r = policy.runs.begin[job], over = r + policy.runs.count[job]; r < over; r++) {
      if (policy.runs.first[r] <= node && node <= policy.runs.last[r]) return job;
    }
  }
  return null;
}

// The outage that a node is in at an instant, or undefined.
function outageAt(policy, time, node) {
  return policy.outages.find(({ begin, end, first, last }) => begin <= time && time < end && first <= node && node <= last);
}

// Outages as people name them, {kind, begin, end, low, high, nodes}: one of a file as a whole, failures one by one.
function namedOutages(policy) {
  const found = new Map();
  policy.outages.forEach(({ kind, row, begin, end, first, last }, i) => {
    const key = row < 0 ? `each ${i}` : `${kind} ${row}`;
    const whole = found.get(key) || { kind, begin, end, low: first, high: last, nodes: 0 };
    found.set(key, {
      kind, begin: Math.min(whole.begin, begin), end: Math.max(whole.end, end), low: Math.min(whole.low, first),
      high: Math.max(whole.high, last), nodes: whole.nodes + last - first + 1,
    });
  });
  return [...found.values()];
}
