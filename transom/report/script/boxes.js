// As wide and as long as the page happens to be.
function sayIfScrolling(box) {
  const said = element("p", { class: "scrolls", "aria-hidden": "true", hidden: "" });
  box.before(said);
  new ResizeObserver(() => {
    const ways = [];
    if (box.scrollWidth > box.clientWidth + 1) ways.push("sideways for more columns\u00a0→");
    if (box.scrollHeight > box.clientHeight + 1) ways.push("down for more rows\u00a0↓");
    said.textContent = `Scroll ${ways.join(", ")}`;
    said.hidden = ways.length === 0;
  }).observe(box);
}
