// A job: who asked for what, and what became of it under each policy.
function duration(seconds) {
  if (Number.isNaN(seconds)) return "–";
  const size = Math.abs(seconds);
  if (size < 120) return `${Math.round(seconds)} s`;
  if (size < 7200) return `${(seconds / 60).toFixed(size < 600 ? 1 : 0)} min`;
  if (size < 72 * 3600) return `${(seconds / 3600).toFixed(size < 36000 ? 1 : 0)} h`;
  return `${(seconds / 86400).toFixed(1)} d`;
}

const counted = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

// What a further resource is called: partitions are resources that count their nodes.
const amountOf = (resource) => (resource.partition ? `nodes of ${resource.partition}` : resource.name);

// For how long [s] a waiting job found too little of something, and of what.
function lacking(page, policy, job) {
  const { trace } = page, came = policy.submit[job], began = policy.start[job], { time, level } = policy.steps.used;
  const asked = [{ of: "nodes", need: trace.nodes[job], held: () => level }];
  for (const each of trace.resources) asked.push({ of: amountOf(each), partition: each.partition, need: each.demand[job], held: () => heldOf(policy, each.demand) });
  const wanted = asked.map((each, i) => ({ ...each, capacity: policy.capacity[i], out: i ? null : policy.out })).filter(({ need }) => need > 0);
  const levels = wanted.map(({ held }) => held()), scarce = new Set();
  let seconds = 0;
  for (let i = Math.max(0, placeIn(time, came + 1) - 1); i < time.length && time[i] < began; i++) {
    const short = wanted.filter(({ need, capacity, out }, r) => capacity - levels[r][i] - (out ? levelAt(out, time[i]) : 0) < need);
    short.forEach((each) => scarce.add(each.of));
    if (short.length) seconds += Math.min(began, i + 1 < time.length ? time[i + 1] : began) - Math.max(time[i], came);
  }
  if (scarce.size > 1 && wanted.some((each) => each.partition && scarce.has(each.of))) scarce.delete("nodes"); // said more closely
  return { seconds, of: [...scarce].join(" or ") };
}

// Why a job started when it did, in sentences.
function reasons(page, policy, job) {
  const { trace } = page, { submit, start, end } = policy, need = trace.nodes[job];
  const came = submit[job], began = start[job], wait = began - came;
  if (wait === 0) return [];
  const said = [];
  let late = -1;
  trace.parents[0].forEach((child, i) => {
    const parent = trace.parents[1][i];
    if (child === job && end[parent] > came && (late < 0 || end[parent] > end[late])) late = parent;
  });
  if (late >= 0) said.push(`It had to wait for job ${trace.id[late]} to end, ${duration(end[late] - came)} after its submission.`);
  const short = lacking(page, policy, job);
  let ahead = 0, nodes = 0, overtook = 0, freed = 0, released = 0, example = -1;
  const partitions = trace.resources.filter((each) => each.partition && each.demand[job] > 0);
  for (const other of policy.byStart) {
    if (other === job || (partitions.length && !partitions.some((each) => each.demand[other] > 0))) continue;
    if (submit[other] <= came && start[other] > came && (submit[other] < came || other < job)) [ahead, nodes] = [ahead + 1, nodes + trace.nodes[other]];
    if (submit[other] > came && start[other] < began) overtook++;
    if (end[other] === began) [freed, released, example] = [freed + 1, released + trace.nodes[other], other];
  }
  if (ahead) said.push(`${counted(ahead, "job")} with ${counted(nodes, "node")} in all ${ahead === 1 ? "was" : "were"} waiting${partitions.length ? " in its partition" : ""} when it came.`);
  const same = short.seconds > 0 && duration(short.seconds) === duration(wait);
  if (same) said.push(`${short.seconds < wait ? "Nearly all" : "All"} the time too few ${short.of} were idle for it.`);
  else if (short.seconds > 0) said.push(`For ${duration(short.seconds)} of ${duration(wait)} too few ${short.of} were idle for it; else jobs ahead of it or a reservation kept it.`);
  else said.push("All that it asked for was idle all the time; jobs ahead of it or a reservation kept it.");
  if (overtook) said.push(`${counted(overtook, "job")} that came later started before it.`);
  if (freed) said.push(freed === 1 ? `It started when job ${trace.id[example]} ended, which freed ${counted(released, "node")}.` : `It started when ${freed} jobs ended, which freed ${counted(released, "node")}.`);
  return said;
}

function promises(page, policy, job) {
  const { when, first, last } = policy.promised;
  if (Number.isNaN(when[job])) return policy.start[job] > policy.submit[job] ? "It never held a reservation." : "";
  const at = duration(when[job] - policy.submit[job]);
  const told = (time) => (Number.isNaN(time) ? "no certain time" : moment(time, page));
  const moved = first[job] === last[job] ? "" : `, at last for ${told(last[job])}`;
  return `It was given a reservation ${when[job] === policy.submit[job] ? "at its submission" : `${at} after its submission`}, ${moved ? "at first " : ""}for ${told(first[job])}${moved}.`;
}

function userName(page, user) {
  if (user < 0) return "unknown";
  const text = page.trace.texts.user_name;
  if (!text) return `user ${user}`;
  const job = page.trace.user.indexOf(user);
  return (job >= 0 && text.names[text.of[job]]) || `user ${user}`;
}

function textOf(page, kind, job) {
  const text = page.trace.texts[kind];
  return text ? text.names[text.of[job]] : "";
}

// The card of a job: who asked for what, and what became of it under each policy.
function showCard(page, job, choose) {
  const card = document.getElementById("card");
  card.replaceChildren();
  card.hidden = job < 0;
  if (job < 0) return;
  const { trace } = page;
  const close = element("button", { type: "button" }, "Close");
  close.addEventListener("click", () => choose(null));
  const user = element("button", { type: "button", class: "link" }, userName(page, trace.user[job]));
  user.addEventListener("click", () => page.chooseUser(trace.user[job]));
  card.append(element("div", { class: "head" }, element("h2", {}, jobTitle(page, job)), close));
  const facts = element("dl");
  const fact = (term, ...told) => facts.append(element("div", {}, element("dt", {}, term), element("dd", {}, ...told)));
  fact("User", trace.user[job] < 0 ? "unknown" : user);
  for (const kind of ["group", "partition"]) if (textOf(page, kind, job)) fact(kind === "group" ? "Group" : "Partition", textOf(page, kind, job));
  const more = trace.resources.filter((each) => !each.partition && each.demand[job] > 0).map((each) => `${each.demand[job].toLocaleString("en")} ${each.name}`);
  fact("Asked for", `${[counted(trace.nodes[job], "node"), ...more].join(", ")} for ${duration(trace.walltime[job])}`);
  const share = 100 * trace.runtime[job] / trace.walltime[job];
  fact("Ran", `${duration(trace.runtime[job])} (${share < 0.5 ? "less than 1" : Math.round(share)} % of what it asked for)`);
  fact("Submitted", moment(trace.submit[job], page));
  for (const wait of loggedWait(page, job)) fact("By the log", `waited ${wait}, started ${moment(page.log.start[job], page)}`);
  const fates = element("div", { class: "fates" });
  for (const policy of page.policies) {
    const fate = element("div", {}, element("h3", {}, policy.label));
    fates.append(fate);
    if (Number.isNaN(policy.start[job])) {
      fate.append(element("p", {}, "It is larger than this machine and was left out."));
      continue;
    }
    const wait = duration(policy.start[job] - policy.submit[job]);
    const how = `Waited ${wait}, started ${moment(policy.start[job], page)} (${page.data.modes[policy.mode[job]]}), ended ${moment(policy.end[job], page)}.`;
    fate.append(element("p", {}, [how, ...reasons(page, policy, job), promises(page, policy, job)].join(" ")));
  }
  card.append(facts, fates);
}

// What a job waited by the log, if that states it.
function loggedWait({ log, trace }, job) {
  return log && !Number.isNaN(log.start[job]) ? [duration(log.start[job] - trace.submit[job])] : [];
}

function jobTitle(page, job) {
  const name = textOf(page, "name", job);
  return `Job ${textOf(page, "label", job) || page.trace.id[job]}${name ? `: ${name}` : ""}`;
}
