// Values of curves, read with a pointer, a finger or the arrow keys.

// From a share of an axis to a value; the symmetric logarithm is matplotlib's, with base 10.
function along({ kind, low, high, threshold, stretch }) {
  const flat = kind === "symlog" ? stretch / (1 - 1 / 10) : 0;
  const bent = (value) => Math.sign(value) * threshold * (flat + Math.log10(Math.abs(value) / threshold));
  const straight = (place) => Math.sign(place) * threshold * 10 ** (Math.abs(place) / threshold - flat);
  const [to, from] = {
    linear: [(value) => value, (place) => place],
    log: [Math.log, Math.exp],
    symlog: [
      (value) => (Math.abs(value) > threshold ? bent(value) : value * flat),
      (place) => (Math.abs(place) > threshold * flat ? straight(place) : place / flat),
    ],
  }[kind];
  const [first, last] = [to(low), to(high)];
  return (share) => from(first + share * (last - first));
}

// The corners of a path of straight lines, in the units of its drawing.
function corners(path) {
  const found = [];
  let [x, y] = [0, 0];
  for (const [, command, a, b] of (path.getAttribute("d") ?? "").matchAll(/([MLHV])\s*(-?[\d.e+-]+)(?:[\s,]+(-?[\d.e+-]+))?/g)) {
    if (command === "H") x = Number(a);
    else if (command === "V") y = Number(a);
    else [x, y] = [Number(a), Number(b)];
    found.push([x, y]);
  }
  return found;
}

// The height of a curve at a place: none before it begins, that of its end behind it.
function height(points, x) {
  if (points.length === 0 || x < points[0][0] - 0.01) return null;
  let i = points.length - 1;
  while (i > 0 && points[i][0] > x) i -= 1;
  const [[x0, y0], [x1, y1]] = [points[i], points[i + 1] ?? points[i]];
  return x1 > x0 && x > x0 ? y0 + ((y1 - y0) * (x - x0)) / (x1 - x0) : y0;
}

// box: left, top, right and bottom of the axes; curves: their names and paths.
function readable(holder, svg, { box, x, y, curves }) {
  const [left, top, right, bottom] = box;
  const [timeAt, valueAt] = [along(x), along(y)];
  const lines = curves.map(({ name, path }) => ({ name, path, points: corners(path) }));
  const cursor = drawn("path", { class: "cursor", fill: "none", stroke: shade("#444444"), "stroke-width": 0.8 });
  const reading = element("div", { class: "reading" });
  const blur = 1e-6 * Math.max(Math.abs(y.low), Math.abs(y.high)); // of coordinates with six decimals
  let place = null;
  svg.append(cursor);
  holder.append(reading);
  const told = { role: "slider", tabindex: 0, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": 100 };
  for (const [name, value] of Object.entries(told)) holder.setAttribute(name, value);
  holder.setAttribute("aria-valuetext", "Arrow keys read the values of the curves.");

  function clear() {
    place = null;
    cursor.removeAttribute("d");
    reading.replaceChildren();
  }

  function read(share) {
    place = Math.min(Math.max(share, 0), 1);
    const at = left + place * (right - left);
    cursor.setAttribute("d", `M${at} ${top}V${bottom}`);
    const here = lines.map((line) => ({ ...line, y: height(line.points, at) })).filter((line) => line.y !== null);
    here.sort((a, b) => a.y - b.y);
    const said = here.map(({ name, path, y: level }) => {
      const exact = valueAt((bottom - level) / (bottom - top));
      const value = Math.abs(exact) < blur ? "0" : number(exact, 3);
      const style = getComputedStyle(path);
      const line = drawn("path", { d: "M0 5H22", "stroke-width": 2.5, stroke: style.stroke, "stroke-dasharray": style.strokeDasharray });
      const text = `${name}: ${value}`;
      return [text, element("span", {}, drawn("svg", { width: 22, height: 10, "aria-hidden": "true" }, line), ` ${text}`)];
    });
    const head = `${x.label}: ${number(timeAt(place), 3)}`;
    const title = element("b", {}, `${head}; ${y.label}`);
    reading.replaceChildren(title, ...said.map(([, span]) => span));
    holder.setAttribute("aria-valuenow", Math.round(100 * place));
    holder.setAttribute("aria-valuetext", [head, ...said.map(([text]) => text)].join(", "));
  }

  function follow(event) {
    const frame = svg.getBoundingClientRect();
    const at = ((event.clientX - frame.left) / frame.width) * svg.viewBox.baseVal.width;
    if (event.clientY <= frame.bottom) read((at - left) / (right - left)); // below it is what was read
  }

  holder.onpointerdown = follow;
  holder.onpointermove = follow;
  holder.onpointerleave = (event) => event.pointerType === "mouse" && clear();
  holder.onblur = clear;
  holder.onkeydown = (event) => {
    const now = place ?? 1;
    const step = event.shiftKey ? 0.1 : 0.01;
    const moves = { ArrowLeft: now - step, ArrowDown: now - step, ArrowRight: now + step, ArrowUp: now + step, Home: 0, End: 1 };
    if (event.key === "Escape") clear();
    else if (event.key in moves) read(moves[event.key]);
    else return;
    event.preventDefault();
  };
}

for (const holder of document.querySelectorAll("[data-reading]")) {
  const { name, curves, ...axes } = JSON.parse(holder.dataset.reading);
  const svg = holder.querySelector("svg");
  const paths = curves.map((each, k) => ({ name: each, path: svg.querySelector(`[id="${name}-curve-${k}"] path`) }));
  readable(holder, svg, { ...axes, curves: paths.filter(({ path }) => path !== null) });
}
