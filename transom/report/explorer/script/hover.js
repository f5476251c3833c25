// What lies under the pointer, in words beside it.
function jobWords(page, policy, job) {
  const { trace } = page, partition = textOf(page, "partition", job);
  return [
    jobTitle(page, job),
    [userName(page, trace.user[job]), partition, counted(trace.nodes[job], "node")].filter(Boolean).join(", "),
    `submitted ${moment(policy.submit[job], page)}`,
    `started ${moment(policy.start[job], page)}`,
    `ended ${moment(policy.end[job], page)}`,
    `waited ${duration(policy.start[job] - policy.submit[job])}, ran ${duration(policy.end[job] - policy.start[job])}`,
    ...loggedWait(page, job).map((wait) => `by the log it waited ${wait}`),
  ];
}

// Of a schedule at an instant and a node.
function scheduleWords(page, policy, state, time, node) {
  const at = moment(time, page), out = policy.out ? levelAt(policy.out, time) : 0;
  if (state.view !== "nodes" || !policy.runs) {
    const held = levelAt(policy.steps.used, time);
    return [at, `${held.toLocaleString("en")} of ${counted(policy.machine, "node")} in use`, ...(out ? [`${counted(out, "node")} out of service`] : [])];
  }
  const job = jobAt(policy, time, node);
  if (job !== null) return jobWords(page, policy, job);
  const outage = outageAt(policy, time, node);
  if (!outage) return [at, `node ${node} is idle`];
  return [outage.kind, `node ${node} is out of service`, `from ${moment(outage.begin, page)}`, `until ${moment(outage.end, page)}`];
}

// Of lines, [look, label, steps], at an instant.
function lineWords(page, series, time, what) {
  const said = series.map(([, label, steps]) => `${label}: ${levelAt(steps, time).toLocaleString("en")} ${what}`);
  return [moment(time, page), ...said];
}

// Lines of text beside the pointer, within the window; none hides them.
function hover(lines, x, y) {
  const box = document.getElementById("hover");
  box.hidden = !lines;
  if (!lines) return;
  box.replaceChildren(...lines.map((line) => element("div", {}, line)));
  const { offsetWidth, offsetHeight } = box, { clientWidth } = document.documentElement;
  box.style.left = `${Math.max(4, x + 14 + offsetWidth > clientWidth ? x - 14 - offsetWidth : x + 14)}px`;
  box.style.top = `${Math.max(4, y + 14 + offsetHeight > innerHeight ? y - 14 - offsetHeight : y + 14)}px`;
}
