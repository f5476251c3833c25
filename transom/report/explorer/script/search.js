// Jobs and users by number or by a part of their name.
const FOUND = 12;

function found(page, text) {
  const { trace } = page, wanted = text.trim().toLowerCase(), hits = [];
  if (!wanted) return hits;
  const add = (hit) => hits.length < FOUND && hits.push(hit);
  const number = Number(wanted);
  if (Number.isInteger(number)) {
    const job = page.placeOf(number);
    if (job >= 0) add({ job, text: jobText(page, job) });
    if (page.users.has(number)) add({ user: number, text: userText(page, number) });
  }
  for (const user of page.users.keys()) {
    if (hits.length >= FOUND) break;
    if (user !== number && userName(page, user).toLowerCase().includes(wanted)) add({ user, text: userText(page, user) });
  }
  for (const kind of ["label", "name"]) {
    const column = trace.texts[kind];
    if (!column) continue;
    const names = new Set();
    column.names.forEach((name, i) => name.toLowerCase().includes(wanted) && names.add(i));
    for (let job = 0; names.size && job < trace.count && hits.length < FOUND; job++) {
      if (names.has(column.of[job])) add({ job, text: jobText(page, job) });
    }
  }
  return hits;
}

function jobText(page, job) {
  const name = textOf(page, "label", job) || page.trace.id[job], title = textOf(page, "name", job);
  return `Job ${name}${title ? ` ${title}` : ""} of ${userName(page, page.trace.user[job])}: ${counted(page.trace.nodes[job], "node")}`;
}

function userText(page, user) {
  const name = userName(page, user);
  return `${name.startsWith("user ") ? name.replace("user", "User") : `User ${name}`}: ${counted(page.users.get(user), "job")}`;
}

function setUpSearch(page, chooseJob, chooseUser) {
  const field = document.getElementById("find"), list = document.getElementById("found");
  field.addEventListener("input", () => {
    const hits = found(page, field.value);
    list.replaceChildren(...hits.map((hit) => {
      const button = element("button", { type: "button" }, hit.text);
      button.addEventListener("click", () => {
        list.replaceChildren();
        if (hit.job === undefined) chooseUser(hit.user);
        else chooseJob(page.trace.id[hit.job], true);
      });
      return element("li", {}, button);
    }));
    if (!hits.length && field.value.trim()) list.append(element("li", {}, "No job or user is called so."));
  });
  // The list lies over the page until something is chosen, or readers turn elsewhere.
  field.addEventListener("keydown", (event) => event.key === "Escape" && list.replaceChildren());
  document.addEventListener("pointerdown", (event) => list.parentElement.contains(event.target) || list.replaceChildren());
}

// What the chosen user's jobs waited under each policy.
function showUser(page, user, choose) {
  const box = document.getElementById("user");
  box.replaceChildren();
  box.hidden = user === null;
  if (user === null) return;
  const close = element("button", { type: "button" }, "All users");
  close.addEventListener("click", () => choose(null));
  const said = page.policies.map((policy) => {
    let jobs = 0, total = 0;
    for (const job of policy.byStart) if (page.trace.user[job] === user) [jobs, total] = [jobs + 1, total + policy.start[job] - policy.submit[job]];
    return `${duration(jobs ? total / jobs : NaN)} under ${policy.label}`;
  });
  box.append(element("span", {}, `${userText(page, user)}; mean wait ${said.join(", ")}.`), close);
}
