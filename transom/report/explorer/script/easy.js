// First come, first served with EASY backfilling, start for start as the engine of Transom replays it: ends before
// submissions, then one pass. The head of the queue that does not fit gets the shadow time, the earliest instant at
// which it fits by the walltimes of the running jobs; others start in order if they fit now and either end by then or
// fit into the extra amounts that are left beside the head. `demand` are columns of nodes and of each further resource,
// `capacity` what the machine has of each, `outages` what goes out of service (see service.js) or null. Yields the share
// of jobs that have started, for `inSlices`.
function* easyReplay(jobs, capacity, outages) {
  const { submit, runtime } = jobs, walltime = jobs.walltime.slice(), demand = [...jobs.demand], [nodes] = demand;
  const count = submit.length;
  const start = new Float64Array(count).fill(NaN), end = start.slice(), mode = new Int8Array(count), held = mode.slice(), order = new Int32Array(count);
  const when = new Float64Array(count).fill(NaN), first = when.slice(), last = when.slice();
  const parents = new Int32Array(count), children = new Map();
  jobs.parents[0].forEach((child, i) => {
    const parent = jobs.parents[1][i];
    parents[child]++;
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(child);
  });
  const ends = endHeap(), expected = expectedEnds();
  const queue = [], smallest = nodes.reduce((least, size) => Math.min(least, size), Infinity);
  const free = [...capacity];
  let next = 0, started = 0, passed = 0, shadow = 0, passes = 0, repeated = 0;

  const fits = (job, amount) => {
    if (nodes[job] > amount[0]) return false; // mostly it is nodes that lack
    for (let r = 1; r < demand.length; r++) if (demand[r][job] > amount[r]) return false;
    return true;
  };
  const change = (amount, job, sign) => {
    for (let r = 0; r < demand.length; r++) amount[r] += sign * demand[r][job];
  };
  const launch = (job, now, how) => {
    change(free, job, -1);
    expected.add(now + walltime[job], job);
    ends.push(now + runtime[job], job);
    [start[job], end[job], mode[job], order[job]] = [now, now + runtime[job], how, started++];
    service?.give(job, now);
  };
  const vacate = (job) => {
    change(free, job, 1);
    expected.remove(start[job] + walltime[job], job);
    passed = 0;
  };
  const finish = (job) => {
    vacate(job);
    for (const child of children.get(job) || []) {
      if (--parents[child] === 0 && child < next) queue.splice(placeIn(queue, child), 0, child);
    }
  };
  // An outage ends a job before its time: it is lost, or waits again as if it had never started.
  const interrupt = (job, now) => {
    ends.remove(job);
    if (outages.lose) {
      end[job] = now;
      finish(job);
      return;
    }
    vacate(job);
    repeated += nodes[job] * (now - start[job]);
    start[job] = end[job] = NaN;
    held[job] = 0;
    queue.splice(placeIn(queue, job), 0, job);
  };
  const service = outages && nodesInService(outages.rows, capacity[0], { demand, walltime, expected, queue, start, free, interrupt });
  const extra = free.slice();
  const shadowTime = (head, now) => {
    const known = service?.known();
    if (known?.changes.length) return shadowBesideMaintenance(head, now, { demand, walltime, expected, free }, extra, known);
    for (let r = 0; r < free.length; r++) extra[r] = free[r];
    let at = now, i = 0;
    while (!fits(head, extra)) {
      // A job past its walltime is expected to end the next second; where nodes have failed, all ends may not do.
      at = i < expected.time.length ? Math.max(expected.time[i], now + 1) : Infinity;
      if (at === Infinity) break;
      for (; i < expected.time.length && Math.max(expected.time[i], now + 1) === at; i++) change(extra, expected.job[i], 1);
    }
    change(extra, head, -1);
    return at;
  };
  const reserve = (head, now) => {
    held[head] = 1;
    shadow = shadowTime(head, now);
    if (shadow === Infinity) return; // nothing that can be promised
    if (Number.isNaN(when[head])) [when[head], first[head]] = [now, shadow];
    last[head] = shadow;
  };

  for (;;) {
    if (!queue.length && ends.least() === Infinity && next === count) break;
    const now = Math.min(ends.least(), next < count ? submit[next] : Infinity, service ? service.next() : Infinity);
    if (now === Infinity) break;
    while (ends.least() === now) {
      const job = ends.pop();
      finish(job);
      service?.release(job);
    }
    for (; next < count && submit[next] === now; next++) if (parents[next] === 0) queue.push(next);
    if (service?.take(now)) passed = 0;
    if (queue.length === 0) continue;
    if (service?.prepare(now)) passed = 0;
    if (++passes % 64 === 0) yield started / count;
    // What the last pass left cannot start now if nothing ended since; jobs past their walltime change that.
    if (expected.time.length && expected.time[0] <= now) passed = 0;
    let heads = 0;
    if (passed === 0) {
      while (heads < queue.length && fits(queue[heads], free)) {
        launch(queue[heads], now, held[queue[heads]]);
        heads++;
      }
      queue.splice(0, heads);
      if (queue.length === 0) continue;
      reserve(queue[0], now);
    }
    const from = Math.max(1, passed);
    let gone = 0;
    for (let i = from; i < queue.length; i++) {
      if (free[0] < smallest) {
        if (gone) queue.copyWithin(i - gone, i);
        break;
      }
      const job = queue[i];
      const beyond = now + walltime[job] > shadow;
      if (fits(job, free) && (!beyond || fits(job, extra))) {
        if (beyond) change(extra, job, -1);
        launch(job, now, 2);
        gone++;
      } else if (gone) queue[i - gone] = job;
    }
    queue.length -= gone;
    passed = queue.length;
  }
  const byStart = Int32Array.from(start.keys()).filter((job) => !Number.isNaN(start[job])).sort((a, b) => order[a] - order[b]);
  return { start, end, mode, byStart, promised: { when, first, last }, service, repeated };
}

// The place of a number in an ascending list.
function placeIn(list, value) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Running jobs by expected end, then by place.
function expectedEnds() {
  const time = [], job = [];
  const place = (at, which) => {
    let i = placeIn(time, at);
    while (i < time.length && time[i] === at && job[i] < which) i++;
    return i;
  };
  return {
    time, job,
    add(at, which) {
      const i = place(at, which);
      time.splice(i, 0, at);
      job.splice(i, 0, which);
    },
    remove(at, which) {
      const i = place(at, which);
      time.splice(i, 1);
      job.splice(i, 1);
    },
  };
}

// A binary heap of (end, job).
function endHeap() {
  const time = [], job = [];
  const swap = (a, b) => {
    [time[a], time[b]] = [time[b], time[a]];
    [job[a], job[b]] = [job[b], job[a]];
  };
  const rise = (i) => {
    for (let up = (i - 1) >> 1; i > 0 && time[i] < time[up]; i = up, up = (i - 1) >> 1) swap(i, up);
  };
  return {
    least: () => (time.length ? time[0] : Infinity),
    push(at, which) {
      job.push(which);
      rise(time.push(at) - 1);
    },
    remove(which) {
      const i = job.indexOf(which);
      time[i] = -Infinity;
      rise(i);
      this.pop();
    },
    pop() {
      const which = job[0];
      swap(0, time.length - 1);
      time.pop();
      job.pop();
      for (let i = 0; ;) {
        let down = 2 * i + 1;
        if (down + 1 < time.length && time[down + 1] < time[down]) down++;
        if (down >= time.length || time[i] <= time[down]) break;
        swap(i, down);
        i = down;
      }
      return which;
    },
  };
}

// What is left of an amount in per cent, at least one of it.
const scaled = (amount, size) => Math.max(Math.min(1, amount), Math.floor(amount * size / 100));

// The trace with another load, machine and accuracy of walltimes, all in per cent. Submissions move together by the
// load; of nodes and each further resource that share is there, and jobs that ask for more are left out; accuracy takes
// that share of what a walltime exceeds the runtime by. Outages keep their times and take that share of the nodes. `of`
// is the place of each job in the trace.
function altered(trace, { load, size, accuracy }) {
  const capacity = [trace.machine, ...trace.resources.map((each) => each.capacity)].map((all) => scaled(all, size));
  const demand = [trace.nodes, ...trace.resources.map((each) => each.demand)];
  const begin = trace.submit[0];
  const submit = trace.submit.map((at) => begin + Math.floor((at - begin) * 100 / load));
  const of = Array.from(trace.submit.keys()).filter((job) => demand.every((column, r) => column[job] <= capacity[r]));
  of.sort((a, b) => submit[a] - submit[b] || trace.id[a] - trace.id[b]);
  const place = new Int32Array(trace.count).fill(-1);
  of.forEach((job, i) => { place[job] = i; });
  const pick = (column) => Float64Array.from(of, (job) => column[job]);
  const both = trace.parents[0].map((_, i) => i).filter((i) => place[trace.parents[0][i]] >= 0 && place[trace.parents[1][i]] >= 0);
  const walltime = trace.walltime.map((asked, job) => {
    const over = asked - trace.runtime[job];
    return over > 0 ? trace.runtime[job] + Math.ceil(over * (100 - accuracy) / 100) : asked;
  });
  return {
    capacity, of, submit: pick(submit), demand: demand.map(pick), walltime: pick(walltime), runtime: pick(trace.runtime),
    parents: [0, 1].map((side) => Array.from(both, (i) => place[trace.parents[side][i]])),
    outages: trace.outages && { lose: trace.outages.lose, rows: trace.outages.rows.flatMap((row, at) => scaledOutage(row, at, size)) },
  };
}

// A row of outages on a machine of another size; none where it has no nodes there.
function scaledOutage(row, at, size) {
  const below = (node) => Math.floor(node * size / 100);
  const ranges = row.ranges.map(([low, high]) => [below(low), below(high + 1) - 1]).filter(([low, high]) => low <= high);
  return row.ranges.length && !ranges.length ? [] : [{ ...row, at, number: scaled(row.number, size), ranges }];
}

// Runs of nodes by the places of the trace, `lists` being by those of `of`.
function runsOf(count, of, lists) {
  const counts = new Int32Array(count), ordered = new Array(count).fill([]);
  of.forEach((job, i) => { [counts[job], ordered[job]] = [lists[i].length, lists[i]]; });
  const flat = ordered.flat();
  return recordedRuns([counts, Float64Array.from(flat, ([first]) => first), Float64Array.from(flat, ([first, last]) => last - first)]);
}

// FCFS with EASY on an altered trace, as a policy of the page: by the places of the trace, NaN for jobs left out.
function* whatIf(trace, settings) {
  const jobs = altered(trace, settings);
  yield 0;
  const told = yield* easyReplay(jobs, jobs.capacity, jobs.outages);
  yield 1;
  const spread = (column) => {
    const whole = new Float64Array(trace.count).fill(NaN);
    jobs.of.forEach((job, i) => { whole[job] = column[i]; });
    return whole;
  };
  const { service } = told;
  return {
    label: "what if", spec: "fcfs-easy", machine: jobs.capacity[0], capacity: jobs.capacity, submit: spread(jobs.submit), walltime: spread(jobs.walltime),
    start: spread(told.start), end: spread(told.end), mode: spread(told.mode),
    byStart: told.byStart.map((i) => jobs.of[i]), settings, leftOut: trace.count - jobs.of.length,
    runs: service && runsOf(trace.count, jobs.of, service.runs), outages: service ? service.finish() : [],
    repeated: told.repeated, out: service ? { ...service.level, area: integral(service.level.time, service.level.level) } : undefined,
    promised: { when: spread(told.promised.when), first: spread(told.promised.first), last: spread(told.promised.last) },
  };
}

const SLICE = 12; // ms of work between two looks at what readers do

// What work returns that yields now and then the share that is done. It gives way to the page after each slice, and
// ends with null as soon as it is not wanted any more.
async function inSlices(work, wanted, report) {
  for (let until = performance.now() + SLICE; ;) {
    const { done, value } = work.next();
    if (done) return value;
    if (performance.now() < until) continue;
    report(value);
    await new Promise((resume) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = resume;
      port2.postMessage(null);
    });
    if (!wanted()) return null;
    until = performance.now() + SLICE;
  }
}
