// The picture of causes: lanes from top to bottom, rows of writes across. It is drawn anew as a whole,
// because it is small and everything in it moves when a row is added.

import { colour, microseconds, put, shown, svg, el } from "./dom.js";

const rowHeight = 44;
const corner = 10;

/** Draws the rows into `picture`, and the names of the lanes into `head`. */
export function drawCauses(picture, head, rows, layout) {
  const { lanes, step, width, isNarrow } = layout;
  const height = Math.max(1, rows.length * rowHeight);
  const places = new Map(rows.map((row, at) => [row, at * rowHeight + rowHeight / 2]));
  // Who has no lane is beyond the left edge.
  const x = (name) => Math.max(0, (lanes.indexOf(name) + 0.5) * step);
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.setAttribute("width", width);
  picture.setAttribute("height", height);
  const lines = lanes.map((name) => svg("line", { class: "lane", x1: x(name), x2: x(name), y1: 0, y2: height,
    style: { "--own": colour(name) } }));
  const [below, above] = [[], []];
  for (const row of rows) {
    below.push(...tells(row, places.get(row), x, step, isNarrow));
    if (!lanes.includes(row.by)) continue;
    if (row.origin && places.has(row.origin)) below.push(causeLine(row, places, x));
    else if (row.cause !== undefined) below.push(looseEnd(row, places.get(row), x));
    above.push(dot(row, x(row.by), places.get(row)));
  }
  put(picture, ...lines, ...below, ...above);
  const isTilted = step < 72;
  head.classList.toggle("tilted", isTilted);
  put(head, ...lanes.map((name) => el("span", { title: shown(name),
    style: { "--own": colour(name), left: `${x(name)}px`, "max-width": isTilted ? "none" : `${step - 4}px` } },
    shown(name))));
}

/** From a write to each that was told of it. */
function tells(row, y, x, step, isNarrow) {
  const from = x(row.by);
  const parts = [];
  for (const observer of row.observers) {
    const to = x(observer.name);
    if (observer.outcome === "filtered" || to === 0) continue;
    const group = svg("g", { class: "tell", data: { number: row.number, outcome: observer.outcome },
      style: { "--own": colour(row.by) } });
    if (to === from) {
      group.append(svg("circle", { class: "echo", cx: from, cy: y, r: 10 }));
    } else {
      const way = Math.sign(to - from);
      const tip = to - way * 4;
      group.append(svg("line", { x1: from, x2: tip, y1: y, y2: y }),
        svg("path", { d: `M${tip} ${y}l${-way * 6} -4v8z` }));
      if (!isNarrow && step >= 56 && observer.microseconds !== undefined) {
        group.append(svg("text", { x: to - way * 12, y: y - 5, "text-anchor": way > 0 ? "end" : "start" },
          microseconds(observer.microseconds)));
      }
    }
    parts.push(group);
  }
  return parts;
}

/** From a cause to its effect: across to the lane of who was told, and along it up to what that one wrote. */
function causeLine(row, places, x) {
  const [from, to] = [x(row.origin.by), x(row.by)];
  const [start, end] = [places.get(row.origin), places.get(row) + 12];
  const way = Math.sign(to - from);
  const d = way === 0
    ? `M${from} ${start}c${corner * 2} -6 ${corner * 2} ${end - start + 6} 0 ${end - start}`
    : `M${from} ${start}H${to - way * corner}Q${to} ${start} ${to} ${start - corner}V${end}`;
  return svg("g", { class: "cause", data: { number: row.number }, style: { "--own": colour(row.by) } },
    svg("path", { class: "cause-line", d }),
    svg("path", { class: "cause-tip", d: `M${to} ${end - 5}l-5 8h10z` }));
}

/** A cause that isn't on the page any more. */
function looseEnd(row, y, x) {
  const at = x(row.by);
  return svg("path", { class: "cause-loose", d: `M${at} ${y + 12}v10`, data: { number: row.number },
    style: { "--own": colour(row.by) } });
}

function dot(row, x, y) {
  const group = svg("g", { class: "dot", data: { number: row.number, op: row.op },
    style: { "--own": colour(row.by) } });
  if (row.op === "emit") group.append(svg("path", { d: `M${x} ${y - 8}l8 8l-8 8l-8 -8z` }));
  else if (row.op === "call") group.append(svg("rect", { x: x - 6, y: y - 6, width: 12, height: 12 }));
  else group.append(svg("circle", { cx: x, cy: y, r: row.op === "delete" ? 5.5 : 6.5 }));
  return group;
}
