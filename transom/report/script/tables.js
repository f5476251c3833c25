// Tables: sorted, filtered, and long ones shown page by page out of the data beside them.
const PAGE = 100;

// A column holds its different texts, what each is sorted by, and which of them each row has (null: one text a row).
function modelOf(table, box) {
  const source = box.querySelector("script.rows");
  const headings = [...table.tHead.rows[0].cells];
  if (source === null) {
    const rows = [...table.tBodies[0].rows];
    const columns = headings.map((_, c) => {
      const texts = rows.map((row) => row.cells[c].textContent.trim());
      return { texts, sorts: rows.map((row, i) => row.cells[c].dataset.v ?? texts[i]), at: null };
    });
    return { count: rows.length, size: rows.length, columns, row: (i) => rows[i] };
  }
  const { count, columns } = JSON.parse(source.textContent);
  const row = (i) =>
    element(
      "tr",
      {},
      ...columns.map((column, c) => {
        const text = column.texts[column.at === null ? i : column.at[i]];
        const kind = headings[c].classList.contains("number") ? "number" : text.length < 25 ? "short" : "long";
        return c === 0 ? element("th", { scope: "row", class: kind }, text) : element("td", { class: kind }, text);
      }),
    );
  return { count, size: PAGE, columns, row };
}

// The place of each text in ascending order; what is missing has none.
function ranks(column) {
  const keys = column.sorts ?? column.texts;
  const numbers = keys.map((key) => (key === "" ? NaN : Number(key)));
  const compare = (a, b) =>
    Number.isFinite(numbers[a]) && Number.isFinite(numbers[b]) ? numbers[a] - numbers[b] : collator.compare(keys[a], keys[b]);
  const order = keys.map((_, i) => i).sort(compare);
  const found = new Array(keys.length);
  let rank = 0;
  order.forEach((i, n) => {
    if (n > 0 && compare(order[n - 1], i) !== 0) rank += 1;
    found[i] = keys[i] === "" ? null : rank;
  });
  return found;
}

function alive(table, box) {
  const model = modelOf(table, box);
  const headings = [...table.tHead.rows[0].cells];
  const titles = headings.map((heading) => heading.textContent);
  const order = Array.from({ length: model.count }, (_, i) => i);
  const count = element("output", { "aria-live": "polite" });
  let kept = order;
  let page = 0;

  const pager = element("div", { class: "controls pager" });
  const steps = [
    ["First", () => 0],
    ["Previous", () => page - 1],
    ["Next", () => page + 1],
    ["Last", () => Infinity],
  ].map(([title, to]) => {
    const button = element("button", { type: "button" }, title);
    button.addEventListener("click", () => {
      page = to();
      show();
    });
    return button;
  });
  const where = element("output", { "aria-live": "polite" });
  pager.append(...steps, where);

  function show() {
    const last = Math.max(0, Math.ceil(kept.length / model.size) - 1);
    page = Math.min(Math.max(page, 0), last);
    const from = page * model.size;
    table.tBodies[0].replaceChildren(...kept.slice(from, from + model.size).map(model.row));
    where.textContent = `rows ${Math.min(from + 1, kept.length)} to ${Math.min(from + model.size, kept.length)} of ${kept.length}`;
    steps.forEach((button, k) => (button.disabled = k < 2 ? page === 0 : page === last));
  }

  const filters = filtersOf(model, titles, headings);
  function filter() {
    const fits = filters.fits();
    kept = order.filter(fits);
    count.textContent = `${kept.length} of ${model.count} rows`;
    page = 0;
    show();
  }

  headings.forEach((heading, column) => {
    const button = element("button", { type: "button" });
    button.append(...heading.childNodes);
    heading.append(button);
    heading.setAttribute("aria-sort", "none");
    let ranked = null;
    button.addEventListener("click", () => {
      const descending = heading.getAttribute("aria-sort") === "ascending";
      ranked ??= ranks(model.columns[column]);
      const { at } = model.columns[column];
      const of = (i) => ranked[at === null ? i : at[i]];
      // What is missing stays below, whatever the direction.
      order.sort((a, b) => {
        const [x, y] = [of(a), of(b)];
        return x === null || y === null ? (x === null) - (y === null) : descending ? y - x : x - y;
      });
      for (const each of headings) each.setAttribute("aria-sort", "none");
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      filter();
    });
  });

  if (filters.bar !== null) {
    filters.bar.append(count);
    filters.bar.addEventListener("input", filter);
    box.before(filters.bar);
    filter();
  }
  if (model.size < model.count) box.after(pager);
  sayIfScrolling(box);
}

// Words that a row has to hold, and values that readers choose.
function filtersOf(model, titles, headings) {
  const chooses = headings.some((heading) => "choose" in heading.dataset);
  if (model.count < (chooses ? 4 : 16)) return { bar: null, fits: () => () => true };
  const text = element("input", { type: "search", autocomplete: "off" });
  const bar = element("div", { class: "controls" }, element("label", {}, "Text in a row", text));
  const chosen = [];
  headings.forEach((heading, c) => {
    if (!("choose" in heading.dataset)) return;
    const values = [...new Set(model.columns[c].texts)].sort(collator.compare);
    if (values.length < 2) return;
    const select = element("select", {}, element("option", { value: "" }, "all"));
    values.forEach((value) => select.append(element("option", {}, value)));
    bar.append(element("label", {}, titles[c], select));
    chosen.push([model.columns[c], select]);
  });
  const has = (column, test) => {
    const hit = column.texts.map(test);
    return column.at === null ? (i) => hit[i] : (i) => hit[column.at[i]];
  };
  const fits = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const tests = words.map((word) => {
      const columns = model.columns.map((column) => has(column, (each) => each.toLowerCase().includes(word)));
      return (i) => columns.some((test) => test(i));
    });
    for (const [column, select] of chosen) {
      if (select.selectedIndex > 0) tests.push(has(column, (each) => each === select.value));
    }
    return (i) => tests.every((test) => test(i));
  };
  return { bar, fits };
}

for (const table of document.querySelectorAll("table.sortable")) alive(table, table.closest(".box"));
