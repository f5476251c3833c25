// Jobs waiting and nodes in use over time, as steps: instants, ascending, and the levels from each one on. The
// instants are those at which jobs come, start or end, or nodes leave or return.
function stepsOf(policy, nodes) {
  const { submit, start, end, byStart } = policy;
  const byEnd = Int32Array.from(byStart).sort((a, b) => end[a] - end[b]);
  const bySubmit = Int32Array.from(byStart).sort((a, b) => submit[a] - submit[b]);
  const turns = policy.out ? policy.out.time : [], room = 3 * byStart.length + turns.length;
  const time = new Float64Array(room), used = new Float64Array(room), queued = new Float64Array(room);
  let s = 0, b = 0, e = 0, t = 0, held = 0, waiting = 0, count = 0;
  while (e < byEnd.length) {
    const now = Math.min(
      s < bySubmit.length ? submit[bySubmit[s]] : Infinity, b < byStart.length ? start[byStart[b]] : Infinity, end[byEnd[e]],
      t < turns.length ? turns[t] : Infinity,
    );
    for (; e < byEnd.length && end[byEnd[e]] === now; e++) held -= nodes[byEnd[e]];
    for (; s < bySubmit.length && submit[bySubmit[s]] === now; s++) waiting++;
    for (; b < byStart.length && start[byStart[b]] === now; b++, waiting--) held += nodes[byStart[b]];
    while (t < turns.length && turns[t] === now) t++;
    time[count] = now;
    used[count] = held;
    queued[count++] = waiting;
  }
  const [at, nodesHeld, jobsWaiting] = [time, used, queued].map((column) => column.slice(0, count));
  const steps = (level) => ({ time: at, level, area: integral(at, level) });
  return { byEnd, used: steps(nodesHeld), queued: steps(jobsWaiting) };
}

// What of a resource is held from each instant of the steps on.
function heldOf(policy, demand) {
  const { start, end, byStart } = policy, { byEnd, used: { time } } = policy.steps;
  let b = 0, e = 0, held = 0;
  return time.map((now) => {
    for (; e < byEnd.length && end[byEnd[e]] <= now; e++) held -= demand[byEnd[e]];
    for (; b < byStart.length && start[byStart[b]] <= now; b++) held += demand[byStart[b]];
    return held;
  });
}

// The level of steps {time, level} at an instant; before the first there is none.
function levelAt({ time, level }, at) {
  const next = placeIn(time, at), i = time[next] === at ? next : next - 1;
  return i < 0 ? 0 : level[i];
}

// The integral of a step function from its first instant to each of its instants.
function integral(time, level) {
  const area = new Float64Array(time.length);
  for (let i = 1; i < time.length; i++) area[i] = area[i - 1] + level[i - 1] * (time[i] - time[i - 1]);
  return area;
}

// Means of a step function {time, level, area} in equal bins from `from` to `to`; before its first instant it is 0.
function binMeans({ time, level, area }, from, to, bins) {
  const means = new Float64Array(bins), width = (to - from) / bins;
  const until = (at) => {
    const next = placeIn(time, at), i = time[next] === at ? next : next - 1;
    return i < 0 ? 0 : area[i] + level[i] * (at - time[i]);
  };
  let before = until(from);
  for (let bin = 0; bin < bins; bin++) {
    const after = until(from + (bin + 1) * width);
    means[bin] = (after - before) / width;
    before = after;
  }
  return means;
}
