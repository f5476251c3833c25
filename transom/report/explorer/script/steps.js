// Jobs waiting and nodes in use over time, as steps: instants, ascending, and the levels from each one on.
function stepsOf(policy, nodes) {
  const { submit, start, end, byStart } = policy;
  const byEnd = Int32Array.from(byStart).sort((a, b) => end[a] - end[b]);
  const bySubmit = Int32Array.from(byStart).sort((a, b) => submit[a] - submit[b]);
  const room = 3 * byStart.length;
  const time = new Float64Array(room), used = new Float64Array(room), queued = new Float64Array(room);
  let s = 0, b = 0, e = 0, held = 0, waiting = 0, count = 0;
  while (e < byEnd.length) {
    const now = Math.min(
      s < bySubmit.length ? submit[bySubmit[s]] : Infinity, b < byStart.length ? start[byStart[b]] : Infinity, end[byEnd[e]],
    );
    for (; e < byEnd.length && end[byEnd[e]] === now; e++) held -= nodes[byEnd[e]];
    for (; s < bySubmit.length && submit[bySubmit[s]] === now; s++) waiting++;
    for (; b < byStart.length && start[byStart[b]] === now; b++, waiting--) held += nodes[byStart[b]];
    time[count] = now;
    used[count] = held;
    queued[count++] = waiting;
  }
  const [at, nodesHeld, jobsWaiting] = [time, used, queued].map((column) => column.slice(0, count));
  const steps = (level) => ({ time: at, level, area: integral(at, level) });
  return { byEnd, used: steps(nodesHeld), queued: steps(jobsWaiting) };
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
