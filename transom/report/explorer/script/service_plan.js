// What is known ahead of nodes in service, as nodes/service_plan.py and passes/service_plan.py have it.

// When how many more or fewer nodes will be in service, [[time, nodes]], and when windows begin. `rows` are the known
// windows, `failed` and `taken` are by node, `lacking` says how many nodes a window that has begun has not found.
function planOf({ rows, failed, taken, lacking }, now) {
  const ascending = (times) => [...new Set(times.filter((time) => time > now))].sort((a, b) => a - b);
  const reasons = failed.map((gone, node) => (gone > 0) + (taken[node] >= 0));
  const add = (row, by) => {
    for (const [low, high] of row.ranges) for (let node = low; node <= high; node++) reasons[node] += by;
  };
  let short = 0;
  const level = () => Math.max(0, reasons.reduce((sum, reason) => sum + (reason === 0), 0) - short);
  for (const lacks of lacking.values()) short += lacks;
  for (const row of rows) if (row.begin <= now) add(row, 1);
  let before = level();
  const changes = ascending(rows.flatMap(({ begin, end }) => [begin, end])).map((time) => {
    for (const row of rows) {
      if (time !== row.begin && time !== row.end) continue;
      const sign = time === row.begin ? 1 : -1;
      if (row.ranges.length) add(row, sign);
      else if (row.begin > now) short += sign * row.number;
      else { // it has begun, and ends
        short -= lacking.get(row);
        taken.forEach((by, node) => { reasons[node] -= by === row.at; });
      }
    }
    const after = level(), change = after - before;
    before = after;
    return [time, change];
  });
  return { changes, begins: ascending(rows.map(({ begin }) => begin)) };
}

// The earliest instant after now at which `head` fits for its walltime, by expected ends and known changes; `extra` is
// filled with what is left beside it then and, behind the `amounts` of the machine, at the begins `near`.
function shadowBesideMaintenance(head, now, { demand, walltime, expected, free }, extra, { changes, near, amounts }) {
  const [nodes] = demand, running = expected.time.length;
  const endOf = (i) => Math.max(expected.time[i], now + 1);
  const nextInstant = (i, c) => Math.min(i < running ? endOf(i) : Infinity, c < changes.length ? changes[c][0] : Infinity);
  const staysFree = (begin, level, i, c) => {
    for (;;) {
      const time = nextInstant(i, c);
      if (time >= begin + walltime[head]) return true;
      for (; i < running && endOf(i) === time; i++) level += nodes[expected.job[i]];
      for (; c < changes.length && changes[c][0] === time; c++) level += changes[c][1];
      if (level < nodes[head]) return false;
    }
  };
  const levelAt = (time) => {
    let level = free[0];
    for (let i = 0; i < running; i++) if (endOf(i) <= time) level += nodes[expected.job[i]];
    for (const [when, change] of changes) if (when <= time) level += change;
    return level;
  };
  for (let r = 0; r < amounts; r++) extra[r] = free[r];
  let shadow = Infinity, i = 0, c = 0;
  while (shadow === Infinity) {
    const time = nextInstant(i, c);
    if (time === Infinity) break;
    for (; i < running && endOf(i) === time; i++) for (let r = 0; r < amounts; r++) extra[r] += demand[r][expected.job[i]];
    for (; c < changes.length && changes[c][0] === time; c++) extra[0] += changes[c][1];
    let fitting = true;
    for (let r = 0; r < amounts; r++) fitting &&= demand[r][head] <= extra[r];
    if (fitting && staysFree(time, extra[0], i, c)) shadow = time;
  }
  for (let r = 0; r < amounts; r++) extra[r] -= demand[r][head];
  for (let k = 0; amounts + k < extra.length; k++) {
    const runsBeyond = k < near.length && shadow < near[k] && near[k] < shadow + walltime[head];
    extra[amounts + k] = runsBeyond ? levelAt(near[k]) - nodes[head] : Infinity;
  }
  return shadow;
}
