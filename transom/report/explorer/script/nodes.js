// Node ids where they are the lowest idle ones at each start, in the order of starts; ends of an instant come first.
function lowestIdle(policy, nodes, byEnd) {
  const { start, end, byStart, machine } = policy;
  const begin = new Int32Array(nodes.length), count = new Int32Array(nodes.length);
  let first = new Float64Array(4 * byStart.length + 16), last = new Float64Array(first.length), runs = 0;
  const room = 2 * byStart.length + 2;
  const low = new Float64Array(room), high = new Float64Array(room);
  let idle = 1, leaving = 0;
  high[0] = machine - 1;
  const shift = (from, by) => {
    low.copyWithin(from + by, from, idle);
    high.copyWithin(from + by, from, idle);
    idle += by;
  };
  const release = (a, b) => {
    let i = 0;
    for (let to = idle; i < to;) {
      const middle = (i + to) >> 1;
      if (low[middle] < a) i = middle + 1;
      else to = middle;
    }
    const before = i > 0 && high[i - 1] === a - 1, after = i < idle && low[i] === b + 1;
    if (before && after) {
      high[i - 1] = high[i];
      shift(i + 1, -1);
    } else if (before) high[i - 1] = b;
    else if (after) low[i] = a;
    else {
      shift(i, 1);
      low[i] = a;
      high[i] = b;
    }
  };
  for (const job of byStart) {
    for (; leaving < byEnd.length && end[byEnd[leaving]] <= start[job]; leaving++) {
      const gone = byEnd[leaving];
      for (let k = begin[gone]; k < begin[gone] + count[gone]; k++) release(first[k], last[k]);
    }
    begin[job] = runs;
    let taken = 0;
    for (let wanted = nodes[job]; wanted > 0;) {
      if (runs === first.length) [first, last] = [first, last].map(doubled);
      first[runs] = low[taken];
      last[runs] = Math.min(high[taken], low[taken] + wanted - 1);
      wanted -= last[runs] - first[runs] + 1;
      if (last[runs] === high[taken]) taken++;
      else low[taken] = last[runs] + 1;
      runs++;
    }
    count[job] = runs - begin[job];
    if (taken) shift(taken, -taken);
  }
  return { begin, count, first: first.slice(0, runs), last: last.slice(0, runs) };
}

function doubled(array) {
  const larger = new Float64Array(2 * array.length);
  larger.set(array);
  return larger;
}
