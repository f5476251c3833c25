// Elements; texts go in as text, never as markup.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.map(String));
  return made;
}

function holding(name, attributes, ...elements) {
  const made = element(name, attributes);
  made.append(...elements);
  return made;
}

function duration(seconds) {
  if (Number.isNaN(seconds)) return "–";
  const size = Math.abs(seconds);
  if (size < 120) return `${Math.round(seconds)} s`;
  if (size < 7200) return `${(seconds / 60).toFixed(size < 600 ? 1 : 0)} min`;
  return `${(seconds / 3600).toFixed(size < 36000 ? 1 : 0)} h`;
}

const counted = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

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
  const { time, level: used } = policy.steps.used;
  let short = 0;
  for (let i = Math.max(0, placeIn(time, came + 1) - 1); i < time.length && time[i] < began; i++) {
    const until = Math.min(began, i + 1 < time.length ? time[i + 1] : began);
    if (policy.machine - used[i] < need) short += until - Math.max(time[i], came);
  }
  let ahead = 0, nodes = 0, overtook = 0, freed = 0, released = 0, example = -1;
  for (const other of policy.byStart) {
    if (other === job) continue;
    if (submit[other] <= came && start[other] > came && (submit[other] < came || other < job)) [ahead, nodes] = [ahead + 1, nodes + trace.nodes[other]];
    if (submit[other] > came && start[other] < began) overtook++;
    if (end[other] === began) [freed, released, example] = [freed + 1, released + trace.nodes[other], other];
  }
  if (ahead) said.push(`${counted(ahead, "job")} with ${counted(nodes, "node")} in all ${ahead === 1 ? "was" : "were"} waiting when it came.`);
  if (short >= wait) said.push(`All the time fewer than its ${counted(need, "node")} were idle.`);
  else if (short > 0) said.push(`For ${duration(short)} of ${duration(wait)} fewer than its ${counted(need, "node")} were idle; else jobs ahead of it or a reservation kept them.`);
  else said.push(`Enough nodes were idle all the time; jobs ahead of it or a reservation kept them.`);
  if (overtook) said.push(`${counted(overtook, "job")} that came later started before it.`);
  if (freed) said.push(freed === 1 ? `It started when job ${trace.id[example]} ended, which freed ${counted(released, "node")}.` : `It started when ${freed} jobs ended, which freed ${counted(released, "node")}.`);
  return said;
}

function promises(page, policy, job) {
  const { when, first, last } = policy.promised;
  if (Number.isNaN(when[job])) return policy.start[job] > policy.submit[job] ? "It never held a reservation." : "";
  const at = duration(when[job] - policy.submit[job]);
  const told = (time) => (Number.isNaN(time) ? "no certain time" : instant(time, page));
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
  const { trace } = page, name = textOf(page, "name", job), label = textOf(page, "label", job);
  const close = element("button", { type: "button" }, "Close");
  close.addEventListener("click", () => choose(null));
  const user = element("button", { type: "button", class: "link" }, userName(page, trace.user[job]));
  user.addEventListener("click", () => page.chooseUser(trace.user[job]));
  card.append(holding("div", { class: "head" }, element("h2", {}, `Job ${label || trace.id[job]}${name ? `: ${name}` : ""}`), close));
  const facts = element("dl");
  const fact = (term, ...told) => facts.append(element("dt", {}, term), holding("dd", {}, ...told));
  fact("User", trace.user[job] < 0 ? "unknown" : user);
  for (const kind of ["group", "partition"]) if (textOf(page, kind, job)) fact(kind === "group" ? "Group" : "Partition", textOf(page, kind, job));
  fact("Asked for", `${counted(trace.nodes[job], "node")} for ${duration(trace.walltime[job])}`);
  const share = 100 * trace.runtime[job] / trace.walltime[job];
  fact("Ran", `${duration(trace.runtime[job])} (${share < 0.5 ? "less than 1" : Math.round(share)} % of what it asked for)`);
  fact("Submitted", instant(trace.submit[job], page));
  card.append(facts);
  for (const policy of page.policies) {
    card.append(element("h3", {}, policy.label));
    if (Number.isNaN(policy.start[job])) {
      card.append(element("p", {}, "It is larger than this machine and was left out."));
      continue;
    }
    const wait = duration(policy.start[job] - policy.submit[job]);
    const how = `Waited ${wait}, started ${instant(policy.start[job], page)} (${page.data.modes[policy.mode[job]]}), ended ${instant(policy.end[job], page)}.`;
    card.append(element("p", {}, [how, ...reasons(page, policy, job), promises(page, policy, job)].join(" ")));
  }
}
