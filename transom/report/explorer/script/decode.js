// Whole numbers as compact.py packs them: differences without a sign, in groups of seven bits, in base64.
function unpacked(text) {
  const bytes = atob(text);
  let count = 0;
  for (let i = 0; i < bytes.length; i++) count += bytes.charCodeAt(i) < 128;
  const values = new Float64Array(count);
  let value = 0, left = 0, scale = 1, at = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes.charCodeAt(i);
    left += (byte & 127) * scale;
    if (byte > 127) {
      scale *= 128;
      continue;
    }
    value += left % 2 ? -(left + 1) / 2 : left / 2;
    values[at++] = value;
    left = 0;
    scale = 1;
  }
  return values;
}

const zipped = (a, b, join) => a.map((value, i) => join(value, b[i]));

// The jobs, by (submission, id): columns of numbers, and of texts {names, of}.
function decodedTrace(data) {
  const trace = { count: data.count, machine: data.nodes, refused: data.refused, outages: data.outages, without: data.without, texts: {} };
  trace.resources = data.resources.map((each) => ({ ...each, demand: unpacked(each.demand) }));
  for (const name in data.columns) trace[name] = unpacked(data.columns[name]);
  for (const name in data.texts) trace.texts[name] = { names: data.texts[name].names, of: unpacked(data.texts[name].of) };
  trace.parents = data.parents.map(unpacked);
  return trace;
}

// What the log states, like a policy of the jobs whose starts it has; null without any.
function decodedLog(data, trace) {
  if (data.logged === null) return null;
  const wait = unpacked(data.logged), start = zipped(trace.submit, wait, (a, b) => (b < 0 ? NaN : a + b));
  const byStart = Int32Array.from(start.keys()).filter((job) => wait[job] >= 0).sort((a, b) => start[a] - start[b]);
  return { label: "as logged", submit: trace.submit, start, end: zipped(start, trace.runtime, (a, b) => a + b), byStart };
}

// A policy: times of each job on the clock of the trace, NaN for what is not there.
function decodedPolicy(told, trace) {
  const start = zipped(trace.submit, unpacked(told.wait), (a, b) => a + b);
  const runtime = told.runtime === null ? trace.runtime : unpacked(told.runtime);
  const later = (text) => zipped(trace.submit, unpacked(text), (a, b) => (b < 0 ? NaN : a + b));
  const order = unpacked(told.order).map((shift, i) => shift + i);
  const byStart = new Int32Array(trace.count);
  order.forEach((rank, job) => { byStart[rank] = job; });
  const [when, first, last] = told.promised.map(later);
  const policy = {
    label: told.label, spec: told.spec, machine: trace.machine, capacity: [trace.machine, ...trace.resources.map((each) => each.capacity)], submit: trace.submit, walltime: trace.walltime,
    start, end: zipped(start, runtime, (a, b) => a + b), mode: unpacked(told.mode), byStart,
    promised: { when, first, last },
  };
  policy.runs = told.runs && recordedRuns(told.runs.map(unpacked));
  policy.outages = told.outages ? recordedOutages(told.outages) : [];
  if (told.outages) {
    const [time, level] = told.outages.out.map(unpacked);
    policy.out = { time, level, area: integral(time, level) };
  }
  return policy;
}

function recordedRuns([counts, first, width]) {
  const begin = new Int32Array(counts.length);
  for (let i = 1; i < begin.length; i++) begin[i] = begin[i - 1] + counts[i - 1];
  return { begin, count: counts, first, last: zipped(first, width, (a, b) => a + b) };
}

// Nodes out of service, {kind, row, begin, end, first, last}: a row of the file may have several.
function recordedOutages(told) {
  const [kind, row, begin, end, first, last] = told.columns.map(unpacked);
  return Array.from(kind, (place, i) => ({ kind: told.kinds[place], row: row[i], begin: begin[i], end: end[i], first: first[i], last: last[i] }));
}
