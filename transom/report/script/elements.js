// What the other parts share. Nothing here reaches out of the page.
const SVG = "http://www.w3.org/2000/svg";
const collator = new Intl.Collator("en", { numeric: true });

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// The colour of a figure on white paper, or what the page's scheme has for it.
const shade = (colour) => `var(--on-${colour.slice(1).toLowerCase()}, ${colour})`;

const number = (value, digits = 6) =>
  value === null ? "" : Math.abs(value) >= 1e15 ? value.toExponential(3) : String(Number(value.toPrecision(digits)));

// Paper has no way to open what is closed.
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const details of opened) details.open = true;
});
window.addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
