// The picture of the graph: three columns of nodes, and a drawing of the curves between them. The order in a column
// follows the neighbours, so that few curves cross; it is the same for the same graph.

import { amount, colour, el, put, shown, svg } from "./dom.js";

const nodeHeight = 34;
const gapMin = 14;
const gapMax = 30;
const top = 44;
/** Of the kinds of edges, those in the left half. */
const leftKinds = ["writes", "calls"];

/** Draws a model into `canvas`. `choose` is called with the kind and the node that was clicked. */
export function drawGraph(canvas, model, { selected, choose }) {
  const width = Math.max(320, canvas.clientWidth);
  const columns = order(model);
  const tallest = Math.max(...columns.map((column) => column.length), 1);
  const room = (canvas.clientHeight - 4 - top - 16) / tallest - nodeHeight;
  const gap = Math.min(gapMax, Math.max(gapMin, room));
  const height = Math.max(top + tallest * (nodeHeight + gap) + 8, canvas.clientHeight - 4);
  const isNarrow = width < 640;
  const nodeWidth = Math.min(208, Math.max(92, width * (isNarrow ? 0.28 : 0.2)));
  const places = new Map();
  const lefts = [8, (width - nodeWidth) / 2, width - nodeWidth - 8];
  for (const [at, column] of columns.entries()) {
    const used = column.length * (nodeHeight + gap) - gap;
    const first = top + Math.max(0, (Math.min(height, top + tallest * (nodeHeight + gap)) - top - used) / 2);
    for (const [row, node] of column.entries()) {
      places.set(`${at} ${node.name}`, { x: lefts[at], y: first + row * (nodeHeight + gap) });
    }
  }
  const focused = document.activeElement?.dataset?.node;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
  const nodes = ["writes", "keys", "observes"].map((title, at) => el("span", { class: "column-title",
    style: { left: `${lefts[at]}px`, width: `${nodeWidth}px` } }, title));
  const near = neighbours(model, selected);
  for (const edge of model.edges) picture.append(curve(edge, places, nodeWidth, near));
  const kinds = ["writer", "key", "observer"];
  for (const [at, column] of columns.entries()) {
    for (const node of column) {
      const { x, y } = places.get(`${at} ${node.name}`);
      const style = { left: `${x}px`, top: `${y}px`, width: `${nodeWidth}px`, height: `${nodeHeight}px` };
      nodes.push(box(kinds[at], node, style, { nodeWidth, near, selected, choose }));
    }
  }
  put(canvas, el("div", { class: "flow", role: "group", "aria-label": "Who writes what, and who observes it" },
    picture, ...nodes));
  if (focused) canvas.querySelector(`[data-node="${CSS.escape(focused)}"]`)?.focus();
}

/** The three columns. Each is sorted by the mean place of its neighbours, a few times over. */
function order(model) {
  const byName = (a, b) => (a.name < b.name ? -1 : 1);
  const columns = [model.writers, model.keys, model.observers].map((nodes) => [...nodes.values()].sort(byName));
  const sort = (column, other, ends) => {
    const places = new Map(other.map((node, at) => [node.name, at]));
    const means = new Map(column.map((node) => {
      const near = model.edges.filter((edge) => !edge.hearsAll && ends(edge)[0] === node.name)
        .map((edge) => places.get(ends(edge)[1])).filter((place) => place !== undefined);
      return [node.name, near.length ? near.reduce((sum, place) => sum + place, 0) / near.length : 1e6];
    }));
    column.sort((a, b) => means.get(a.name) - means.get(b.name) || byName(a, b));
  };
  const isLeft = (edge) => leftKinds.includes(edge.kind);
  const writes = (edge) => (isLeft(edge) ? [edge.from, edge.to] : [null, null]);
  const written = (edge) => (isLeft(edge) ? [edge.to, edge.from] : [null, null]);
  const observed = (edge) => (isLeft(edge) ? [null, null] : [edge.to, edge.from]);
  for (let round = 0; round < 4; round += 1) {
    sort(columns[1], columns[0], written);
    sort(columns[0], columns[1], writes);
  }
  sort(columns[2], columns[1], observed);
  return columns;
}

/** What is lit when a node is selected: the node, its edges, and their other ends; null for everything. */
function neighbours(model, selected) {
  if (!selected) return null;
  const isEnd = (edge) => edge.from === selected.name || edge.to === selected.name;
  const names = new Set([selected.name]);
  for (const edge of model.edges.filter(isEnd)) names.add(edge.from).add(edge.to);
  return { names, isEnd };
}

function curve(edge, places, nodeWidth, near) {
  const [left, right] = leftKinds.includes(edge.kind) ? [0, 1] : [1, 2];
  const [start, end] = [places.get(`${left} ${edge.from}`), places.get(`${right} ${edge.to}`)];
  const [x1, y1] = [start.x + nodeWidth, start.y + nodeHeight / 2];
  const [x2, y2] = [end.x - 7, end.y + nodeHeight / 2];
  const bend = (x2 - x1) / 2;
  const isDim = near && !near.isEnd(edge);
  const group = svg("g", {
    class: `edge${isDim ? " dim" : ""}${edge.hearsAll ? " hears-all" : ""}${edge.rate > 0.05 ? " flows" : ""}`,
    data: { from: edge.from, to: edge.to, kind: edge.kind, state: edge.state },
    style: { "--own": colour(edge.colour), "--width": `${(1.4 + Math.log2(1 + edge.rate) * 1.5).toFixed(1)}px` },
  });
  group.append(
    svg("path", { class: "edge-line", d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` }),
    svg("path", { class: "edge-tip", d: `M${x2 + 6} ${y2}l-8 -4.5v9z` }),
  );
  const rate = edge.rate >= 0.1 ? `, ${amount(edge.rate)} a second` : "";
  group.append(svg("title", {}, `${shown(edge.from)} → ${shown(edge.to)}${rate}, ${edge.state}`));
  return group;
}

/** Beside a key's name: how often it is written, or how many keys it stands for. Small boxes have no room. */
function keyNote(node, nodeWidth) {
  if (nodeWidth < 140) return "";
  return node.rate >= 0.1 ? `${amount(node.rate)}/s` : node.count > 1 ? `${node.count}` : "";
}

function box(kind, node, style, { nodeWidth, near, selected, choose }) {
  const isDim = near && !near.names.has(node.name);
  const isChosen = selected?.kind === kind && selected.name === node.name;
  const extra = kind === "key" ? keyNote(node, nodeWidth)
    : node.state !== "live" && node.state !== "running" ? node.state : "";
  const name = shown(node.name);
  // What doesn't fit is left out before a key's last token.
  const dot = kind === "key" && name.includes(".") ? name.lastIndexOf(".") : name.length;
  return el("button", {
    class: `node${isDim ? " dim" : ""}${isChosen ? " chosen" : ""}`, title: name,
    data: { node: `${kind} ${node.name}`, kind, name: node.name, state: node.state ?? "live" },
    style: kind === "key" ? style : { ...style, "--own": colour(node.name) },
    onclick: () => choose(kind, node),
  },
  el("span", { class: "node-name" }, el("span", {}, name.slice(0, dot)), el("span", {}, name.slice(dot))),
  extra ? el("span", { class: "node-extra" }, extra) : null);
}
