// First come, first served with EASY backfilling, start for start as the engine of Transom replays it: ends before
// submissions, then one pass. The head of the queue that does not fit gets the shadow time, the earliest instant at
// which it fits by the walltimes of the running jobs; others start in order if they fit now and either end by then or
// fit into the extra amounts that are left beside the head. `demand` are columns of nodes and of each further resource,
// `capacity` what the machine has of each. Yields the share of jobs that have started, for `inSlices`.
function* easyReplay(jobs, capacity) {
  const { submit, demand, walltime, runtime } = jobs, [nodes] = demand;
  const count = submit.length;
  const start = new Float64Array(count), mode = new Int8Array(count), byStart = new Int32Array(count);
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
  const free = [...capacity], extra = [...capacity];
  let next = 0, started = 0, passed = 0, shadow = 0, passes = 0;

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
    start[job] = now;
    mode[job] = how;
    byStart[started++] = job;
  };
  const reserve = (head, now) => {
    for (let r = 0; r < free.length; r++) extra[r] = free[r];
    shadow = now;
    let i = 0;
    while (!fits(head, extra)) {
      shadow = Math.max(expected.time[i], now + 1); // a job past its walltime is expected to end the next second
      for (; i < expected.time.length && Math.max(expected.time[i], now + 1) === shadow; i++) change(extra, expected.job[i], 1);
    }
    change(extra, head, -1);
    if (Number.isNaN(when[head])) [when[head], first[head]] = [now, shadow];
    last[head] = shadow;
  };

  for (;;) {
    const now = Math.min(ends.least(), next < count ? submit[next] : Infinity);
    if (now === Infinity) break;
    while (ends.least() === now) {
      const job = ends.pop();
      change(free, job, 1);
      expected.remove(start[job] + walltime[job], job);
      passed = 0;
      for (const child of children.get(job) || []) {
        if (--parents[child] === 0 && child < next) queue.splice(placeIn(queue, child), 0, child);
      }
    }
    for (; next < count && submit[next] === now; next++) if (parents[next] === 0) queue.push(next);
    if (queue.length === 0) continue;
    if (++passes % 64 === 0) yield started / count;
    // What the last pass left cannot start now if nothing ended since; jobs past their walltime change that.
    if (expected.time.length && expected.time[0] <= now) passed = 0;
    let heads = 0;
    if (passed === 0) {
      while (heads < queue.length && fits(queue[heads], free)) {
        launch(queue[heads], now, Number.isNaN(when[queue[heads]]) ? 0 : 1);
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
  return { start, mode, byStart, promised: { when, first, last } };
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
  return {
    least: () => (time.length ? time[0] : Infinity),
    push(at, which) {
      let i = time.push(at) - 1;
      job.push(which);
      for (let up = (i - 1) >> 1; i > 0 && time[i] < time[up]; i = up, up = (i - 1) >> 1) swap(i, up);
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
// that share of what a walltime exceeds the runtime by. `of` is the place of each job in the trace.
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
  };
}

// FCFS with EASY on an altered trace, as a policy of the page: by the places of the trace, NaN for jobs left out.
function* whatIf(trace, settings) {
  const jobs = altered(trace, settings);
  yield 0;
  const told = yield* easyReplay(jobs, jobs.capacity);
  yield 1;
  const spread = (column) => {
    const whole = new Float64Array(trace.count).fill(NaN);
    jobs.of.forEach((job, i) => { whole[job] = column[i]; });
    return whole;
  };
  const start = spread(told.start);
  return {
    label: "what if", spec: "fcfs-easy", machine: jobs.capacity[0], capacity: jobs.capacity, submit: spread(jobs.submit), walltime: spread(jobs.walltime),
    start, end: zipped(start, trace.runtime, (a, b) => a + b), mode: spread(told.mode),
    byStart: told.byStart.map((i) => jobs.of[i]), runs: null, outages: [], settings, leftOut: trace.count - jobs.of.length,
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
