// Axes, lines over time, and what lies on top of a schedule.
const MARGIN = { left: 56, right: 10, top: 8, bottom: 24 };
const LINES = [["#0072b2", []], ["#d55e00", [6, 3]], ["#009e73", [2, 2]], ["#cc79a7", [8, 3, 2, 3]], ["#e69f00", [4, 4]]];
const LOGGED = ["#565656", [1, 3]];

function theme() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  const whole = (text) => (text.length === 4 ? `#${[...text.slice(1)].map((sign) => sign + sign).join("")}` : text);
  const seen = (colour) => read(`--on-${colour.slice(1)}`) || colour; // as the page's scheme has it
  return { ink: whole(read("--ink")), soft: whole(read("--soft")), line: whole(read("--line")), paper: whole(read("--paper")), seen };
}

// A canvas in the size it is shown in; the scale is that of its pixels.
function prepared(canvas) {
  const scale = Math.min(2, window.devicePixelRatio || 1);
  const width = Math.max(1, Math.round(canvas.clientWidth * scale)), height = Math.max(1, Math.round(canvas.clientHeight * scale));
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height);
  const plot = {
    x: Math.round(MARGIN.left * scale), y: Math.round(MARGIN.top * scale),
    width: Math.max(1, width - Math.round((MARGIN.left + MARGIN.right) * scale)),
    height: Math.max(1, height - Math.round((MARGIN.top + MARGIN.bottom) * scale)),
  };
  context.font = `${11 * scale}px system-ui, "DejaVu Sans", sans-serif`;
  return { context, scale, plot };
}

const STEPS = [1, 5, 15, 60, 300, 900, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000, 315360000];
const pad = (number) => String(number).padStart(2, "0");

// An instant in words: a date where the clock of the trace is that of the world, else time since the first submission.
function instant(seconds, page, step = 1) {
  if (page.epoch !== null) {
    const text = new Date((seconds + page.epoch) * 1000).toISOString();
    return step >= 86400 ? text.slice(0, 10) : `${text.slice(5, 10)} ${text.slice(11, step >= 60 ? 16 : 19)}`;
  }
  const since = Math.round(seconds - page.trace.submit[0]), sign = since < 0 ? "-" : "", left = Math.abs(since);
  const day = Math.floor(left / 86400), rest = left % 86400;
  if (step >= 86400) return `${sign}day ${day}`;
  const clock = `${pad(Math.floor(rest / 3600))}:${pad(Math.floor(rest / 60) % 60)}${step >= 60 ? "" : `:${pad(rest % 60)}`}`;
  return `${sign}${day} d ${clock}`;
}

// The same in full.
function moment(seconds, page) {
  return page.epoch === null ? instant(seconds, page) : new Date((seconds + page.epoch) * 1000).toISOString().slice(0, 19).replace("T", " ");
}

function niceStep(span, room) {
  const least = span / Math.max(1, room), power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= least);
}

function axes({ context, scale, plot }, page, state, low, high, colours) {
  context.strokeStyle = colours.line;
  context.fillStyle = colours.soft;
  context.lineWidth = scale;
  const wide = state.to - state.from, room = Math.max(3, plot.width / (76 * scale));
  const step = STEPS.find((each) => wide / each <= room) || STEPS.at(-1);
  const zero = page.epoch === null ? page.trace.submit[0] : -page.epoch;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (let at = zero + Math.ceil((state.from - zero) / step) * step; at <= state.to; at += step) {
    const x = plot.x + ((at - state.from) / wide) * plot.width;
    context.fillRect(x, plot.y + plot.height, scale, 4 * scale);
    const text = instant(at, page, step), half = context.measureText(text).width / 2;
    if (x - half > 0 && x + half < plot.x + plot.width + MARGIN.right * scale) context.fillText(text, x, plot.y + plot.height + 7 * scale);
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  const rise = Math.max(high - low > 3 ? 1 : 0, niceStep(high - low, plot.height / (34 * scale)));
  for (let at = Math.ceil(low / rise) * rise; at <= high; at += rise) {
    const y = plot.y + plot.height - ((at - low) / (high - low)) * plot.height;
    context.fillText(Number(at.toPrecision(6)).toLocaleString("en"), plot.x - 6 * scale, Math.max(y, plot.y + 4 * scale));
  }
  context.strokeRect(plot.x - scale / 2, plot.y - scale / 2, plot.width + scale, plot.height + scale);
}

function drawSchedule(canvas, page, policy, state) {
  const made = prepared(canvas), { context, scale, plot } = made, colours = theme();
  context.putImageData(rasterised(page, policy, state, plot, colours, Math.max(1, Math.round(scale))), plot.x, plot.y);
  axes(made, page, state, state.low, state.high, colours);
  nameOutages(made, policy, state, colours);
  const job = state.job === null ? -1 : page.placeOf(state.job);
  if (job < 0 || Number.isNaN(policy.start[job])) return;
  const across = (time) => plot.x + Math.min(1, Math.max(0, (time - state.from) / (state.to - state.from))) * plot.width;
  const [began, ended] = [policy.start[job], policy.end[job]].map(across);
  context.lineWidth = 2 * scale;
  context.strokeStyle = colours.ink;
  context.setLineDash([4 * scale, 3 * scale]);
  for (const x of [policy.submit[job], policy.start[job]].filter((at) => at >= state.from && at <= state.to).map(across)) {
    context.beginPath();
    context.moveTo(x, plot.y);
    context.lineTo(x, plot.y + plot.height);
    context.stroke();
  }
  context.setLineDash([]);
  if (policy.end[job] < state.from || policy.start[job] > state.to || state.view !== "nodes" || !policy.runs) return;
  const down = (node) => plot.y + Math.min(1, Math.max(0, (state.high - node) / (state.high - state.low))) * plot.height;
  for (let r = policy.runs.begin[job], over = r + policy.runs.count[job]; r < over; r++) {
    const [top, bottom] = [down(policy.runs.last[r] + 1), down(policy.runs.first[r])];
    if (bottom > top) context.strokeRect(began, top, Math.max(3 * scale, ended - began), Math.max(3 * scale, bottom - top));
  }
}

// What nodes are out for, where that can be read in the chart.
function nameOutages({ context, scale, plot }, policy, state, colours) {
  context.textAlign = "center";
  context.textBaseline = "middle";
  const within = (share) => Math.min(1, Math.max(0, share)), { from, to, low, high } = state;
  for (const each of policy.named) {
    const [left, right] = [each.begin, each.end].map((time) => plot.x + within((time - from) / (to - from)) * plot.width);
    const nodes = state.view === "nodes" && policy.runs ? [each.high + 1, each.low] : [policy.machine, policy.machine - each.nodes];
    const [top, bottom] = nodes.map((node) => plot.y + within((high - node) / (high - low)) * plot.height);
    const wide = context.measureText(each.kind).width + 8 * scale;
    if (right - left < 4 * scale || bottom - top < 16 * scale) continue;
    const upright = right - left < wide;
    if (upright && bottom - top < wide) continue;
    context.save();
    context.translate((left + right) / 2, (top + bottom) / 2);
    if (upright) context.rotate(-Math.PI / 2);
    context.fillStyle = colours.paper;
    context.fillRect(-wide / 2, -8 * scale, wide, 16 * scale);
    context.fillStyle = colours.ink;
    context.fillText(each.kind, 0, 0);
    context.restore();
  }
}

// Lines, [look, label, steps], with an axis from 0. A line goes column by column into a picture:
// stroking paths of so many points would take most of the time of a frame.
function drawLines(canvas, page, state, series) {
  const made = prepared(canvas), { context, scale, plot } = made, colours = theme();
  const { width, height } = plot;
  const lines = series.map(([look, , steps]) => [look, binMeans(steps, state.from, state.to, width)]);
  const top = Math.max(1, ...lines.map(([, means]) => means.reduce((a, b) => Math.max(a, b), 0))) * 1.05;
  const image = new ImageData(width, height), pixels = new Uint32Array(image.data.buffer), thick = Math.max(1, Math.round(1.5 * scale));
  for (const [[name, dash], means] of lines) {
    const colour = packedColour(colours.seen(name));
    const ends = dash.reduce((all, each) => [...all, (all.at(-1) || 0) + each * scale], []);
    let before = null;
    for (let x = 0; x < width; x++) {
      const y = Math.min(height - thick, Math.max(0, Math.round(height * (1 - means[x] / top) - thick / 2)));
      const shown = !ends.length || ends.findIndex((end) => x % ends.at(-1) < end) % 2 === 0;
      for (let at = Math.min(y, before ?? y); shown && at < Math.max(y, before ?? y) + thick; at++) pixels[at * width + x] = colour;
      before = y;
    }
  }
  context.putImageData(image, plot.x, plot.y);
  axes(made, page, state, 0, top, colours);
}
