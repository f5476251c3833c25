// Sliders that replay the trace in the page under FCFS with EASY backfilling.
function figuresOf(page, policy) {
  let total = 0, longest = 0, area = policy.repeated, last = -Infinity; // node-seconds, those of attempts that were ended, too
  for (const job of policy.byStart) {
    const wait = policy.start[job] - policy.submit[job];
    total += wait;
    longest = Math.max(longest, wait);
    area += page.trace.nodes[job] * (policy.end[job] - policy.start[job]);
    last = Math.max(last, policy.end[job]);
  }
  const jobs = policy.byStart.length, begin = policy.byStart.reduce((least, job) => Math.min(least, policy.submit[job]), Infinity);
  const out = policy.out ? binMeans(policy.out, begin, last, 1)[0] : 0;
  return { jobs, mean: total / jobs, longest, use: area / ((policy.machine - out) * (last - begin)) };
}

function settingsText(page, { load, size, accuracy }) {
  const nodes = Math.max(1, Math.floor(page.trace.machine * size / 100));
  return `load ${load} %, ${counted(nodes, "node")}, walltimes ${accuracy ? `${accuracy} % more accurate` : "as requested"}`;
}

function setUpSliders(page, changed) {
  const form = document.getElementById("whatif"), said = document.getElementById("whatif-said");
  const part = document.getElementById("whatif-part");
  if (page.trace.refused) {
    form.hidden = document.getElementById("whatif-note").hidden = true;
    part.classList.add("idle"); // not on paper
    said.textContent = page.trace.refused;
    return { tell() {}, report() {} };
  }
  const sliders = Object.fromEntries(["load", "size", "accuracy"].map((name) => [name, document.getElementById(name)]));
  const read = () => Object.fromEntries(Object.entries(sliders).map(([name, slider]) => [name, Number(slider.value)]));
  const tell = () => {
    const told = read();
    document.getElementById("load-said").textContent = `${told.load} %`;
    document.getElementById("size-said").textContent = counted(Math.max(1, Math.floor(page.trace.machine * told.size / 100)), "node");
    document.getElementById("accuracy-said").textContent = told.accuracy === 100 ? "exact" : told.accuracy ? `${told.accuracy} % closer` : "as requested";
  };
  for (const slider of Object.values(sliders)) {
    slider.addEventListener("input", tell);
    slider.addEventListener("change", () => changed({ ...read(), replayed: true }));
  }
  document.getElementById("whatif-off").addEventListener("click", () => changed({ load: 100, size: 100, accuracy: 0, replayed: false }));
  const off = document.getElementById("whatif-off");
  const report = (share) => {
    off.disabled = false;
    said.textContent = `Replaying ${counted(page.trace.count, "job")}: ${Math.floor(100 * share)} %`;
  };
  return { report, tell(state, policy) {
    for (const name in sliders) sliders[name].value = state[name];
    tell();
    off.disabled = !policy;
    part.classList.toggle("idle", !policy);
    if (!policy) {
      said.textContent = `Move a slider: the page replays all jobs under first come, first served with EASY backfilling. ${page.trace.without}`;
      return;
    }
    const now = figuresOf(page, policy), usual = page.usual;
    const left = policy.leftOut ? ` ${counted(policy.leftOut, "job")} larger than the machine${page.trace.resources.length ? " or its partition" : ""} ${policy.leftOut === 1 ? "is" : "are"} left out.` : "";
    said.textContent = `With ${settingsText(page, state)}, under fcfs-easy: mean wait ${duration(now.mean)} (without changes ${duration(usual.mean)}), `
      + `longest ${duration(now.longest)} (${duration(usual.longest)}), utilisation ${(100 * now.use).toFixed(1)} % (${(100 * usual.use).toFixed(1)} %).${left} ${page.trace.without}`;
  } };
}
