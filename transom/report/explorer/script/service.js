// Nodes that go out of service in the replay of the page and come back, and who holds which, as nodes/service.py has
// it: failures and maintenance, no drains. `rows` say {kind, begin, end, number, ranges, announced, at}, `machine` how
// many nodes there are; `state` is that of the replay, {demand, walltime, expected, queue, start, free, interrupt}. For
// each window that may begin during the longest walltime, a limit on the jobs that run beyond its begin stands behind
// the columns of the demand, as a further resource.
const TIMER = 0, NODE_UP = 1, NODE_DOWN = 2, CAPACITY = 3; // in the order in which events of an instant are taken in

function nodesInService(rows, machine, state) {
  const { demand, expected, queue, start, free } = state, [nodes] = demand, asked = state.walltime.slice();
  const owner = new Int32Array(machine).fill(-1), taken = owner.slice(), runs = Array.from(nodes, () => []);
  const out = new Int32Array(machine), failed = out.slice(), since = new Float64Array(machine);
  const longest = asked.reduce((most, time) => Math.max(most, time), 0), amounts = free.length;
  const log = [], level = { time: [], level: [] }, open = [];
  let coming = [], known = [], plan = null, serving = machine, leaves = null, near = [];

  const idsOf = (row) => row.ranges.flatMap(([low, high]) => Array.from({ length: high - low + 1 }, (_, i) => low + i));
  const inService = (node) => out[node] === 0 && taken[node] < 0;
  const idle = () => {
    const found = [];
    for (let node = 0; node < machine; node++) if (owner[node] < 0 && inService(node)) found.push(node);
    return found;
  };
  const push = (time, kind, row, ends = false) => {
    coming.push({ time, kind, row, ends });
    coming.sort((a, b) => a.time - b.time);
  };
  const release = (job) => {
    for (const [low, high] of runs[job]) owner.fill(-1, low, high + 1);
  };
  const interrupt = (job, now) => {
    state.interrupt(job, now);
    state.walltime[job] = asked[job];
    release(job);
  };
  const withdraw = (ids, now) => {
    const jobs = new Set(ids.map((node) => owner[node]).filter((job) => job >= 0));
    for (const job of [...jobs].sort((a, b) => a - b)) interrupt(job, now);
    free[0] -= ids.length;
  };
  // When each node leaves service next, as far as that is known; null if nothing is.
  const leavesAfter = (now) => {
    const ahead = known.filter((row) => row.ranges.length && row.begin > now);
    if (!ahead.length) return null;
    const found = new Float64Array(machine).fill(Infinity);
    for (const row of ahead) for (const node of idsOf(row)) found[node] = Math.min(found[node], row.begin);
    return found;
  };
  // Jobs on nodes of announced windows will run until the first of these begins: their walltimes end there.
  const expectInterruptions = (now) => {
    const until = new Map();
    leavesAfter(now)?.forEach((time, node) => {
      if (owner[node] >= 0) until.set(owner[node], Math.min(time, until.get(owner[node]) ?? Infinity));
    });
    for (const [job, time] of until) {
      const end = start[job] + state.walltime[job];
      if (time >= end) continue;
      expected.remove(end, job);
      expected.add(time, job);
      state.walltime[job] = time - start[job];
    }
  };
  const bringUp = (row) => {
    const failure = row.kind === "failure";
    for (const node of idsOf(row)) {
      out[node]--;
      failed[node] -= failure;
      free[0] += inService(node);
    }
  };
  const bringDown = (row, now) => {
    const ids = idsOf(row), leaving = ids.filter(inService), failure = row.kind === "failure";
    for (const [first, last] of row.ranges) log.push({ kind: row.kind, row: row.at, begin: now, end: row.end, first, last });
    push(row.end, NODE_UP, row);
    for (const node of ids) {
      out[node]++;
      failed[node] += failure;
    }
    withdraw(leaving, now);
  };
  const heldBy = (row) => Array.from(taken.keys()).filter((node) => taken[node] === row.at);
  const noteWindow = (row, end) => {
    const held = heldBy(row).sort((a, b) => since[a] - since[b] || a - b);
    held.forEach((node, i) => {
      if (since[node] >= end) return;
      if (i && held[i - 1] === node - 1 && since[node - 1] === since[node]) log[log.length - 1].last = node;
      else log.push({ kind: row.kind, row: row.at, begin: since[node], end, first: node, last: node });
    });
  };
  // Ends the windows that are over and begins the others; a node that came back may go to one that lacks nodes.
  const changeWindows = (due, now) => {
    for (const { row, ends } of due) {
      if (!ends) {
        open.push(row);
        push(row.end, CAPACITY, row, true);
        continue;
      }
      open.splice(open.indexOf(row), 1);
      noteWindow(row, now);
      for (const node of heldBy(row)) {
        taken[node] = -1;
        free[0] += inService(node);
      }
    }
    for (const row of open.sort((a, b) => a.at - b.at)) {
      for (let lacking = row.number - heldBy(row).length; lacking > 0;) {
        const chosen = idle().slice(-lacking), busy = owner.findLast((job) => job >= 0);
        if (!chosen.length && busy === undefined) break;
        if (!chosen.length) interrupt(busy, now);
        for (const node of chosen) [taken[node], since[node]] = [row.at, now];
        withdraw(chosen, now);
        lacking -= chosen.length;
      }
    }
  };
  // Brings up to date what is known of the service from now on.
  const renew = (now) => {
    known = known.filter((row) => row.end > now);
    const lacking = new Map(open.map((row) => [row, row.number - heldBy(row).length]));
    plan = planOf({ rows: known, failed, taken, lacking }, now);
    leaves = leavesAfter(now);
    serving = owner.reduce((sum, _, node) => sum + inService(node), 0);
  };

  const begins = new Set();
  for (const row of rows) {
    if (row.kind === "maintenance") begins.add(row.begin);
    if (row.kind === "maintenance" && row.announced === null) known.push(row);
    if (row.kind === "maintenance" && row.announced !== null) push(row.announced, TIMER, row);
    push(row.begin, row.ranges.length ? NODE_DOWN : CAPACITY, row);
  }
  const within = (from, to) => [...begins].filter((begin) => from <= begin && begin < to).length;
  const limits = Math.max(0, ...Array.from(begins, (begin) => within(begin, begin + longest)));
  for (let k = 0; k < limits; k++) {
    demand.push(new Float64Array(nodes.length));
    free.push(0);
  }
  renew(-1);
  return {
    log, runs, level, release,
    known: () => ({ changes: plan.changes, near, amounts }),
    next: () => (coming.length ? coming[0].time : Infinity),
    // Takes in all events of now; whether there were any.
    take(now) {
      const events = coming.filter(({ time }) => time === now), due = (kind) => events.filter((each) => each.kind === kind);
      if (!events.length) return false;
      coming = coming.slice(events.length);
      known.push(...due(TIMER).map(({ row }) => row));
      if (due(TIMER).length) expectInterruptions(now);
      for (const { row } of due(NODE_UP)) bringUp(row);
      for (const { row } of due(NODE_DOWN)) bringDown(row, now);
      changeWindows(due(CAPACITY), now);
      renew(now);
      level.time.push(now);
      level.level.push(machine - serving);
      return true;
    },
    // Before a pass, says what limits the jobs that would run beyond the begin of a window; whether others do than before.
    prepare(now) {
      const before = near;
      near = plan.begins.filter((begin) => now < begin && begin < now + longest);
      const changed = near.join() !== before.join();
      if (!changed && !near.length) return false;
      const lasting = leaves && idle().map((node) => leaves[node]);
      for (let k = 0; k < limits; k++) {
        const time = near[k] ?? Infinity, column = demand[amounts + k];
        let then = serving;
        for (const job of queue) column[job] = now + state.walltime[job] > time ? nodes[job] : 0;
        expected.job.forEach((job, i) => {
          column[job] = Math.max(expected.time[i], now + 1) > time ? nodes[job] : 0;
          then -= column[job];
        });
        for (const [when, change] of plan.changes) then += when <= time ? change : 0;
        free[amounts + k] = time === Infinity ? 0 : Math.max(0, Math.min(then, lasting ? lasting.filter((leave) => leave > time).length : free[0]));
      }
      return changed;
    },
    // Gives a job that starts the idle nodes that leave service first, of those that stay as long as it may run.
    give(job, now) {
      let ids = idle();
      if (leaves) ids = ids.filter((node) => leaves[node] >= now + asked[job]).sort((a, b) => leaves[a] - leaves[b] || a - b);
      runs[job] = [];
      for (const node of ids.slice(0, nodes[job]).sort((a, b) => a - b)) {
        owner[node] = job;
        const last = runs[job][runs[job].length - 1];
        if (last && last[1] === node - 1) last[1] = node;
        else runs[job].push([node, node]);
      }
    },
    // The log at the end: windows that are open end as stated.
    finish() {
      for (const row of open) noteWindow(row, row.end);
      return log;
    },
  };
}
