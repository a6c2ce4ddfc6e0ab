// The rows of the keys' view, and the heads of their columns.

import { el, put, age, amount, bytes, clientName, keyCount, shown } from "./dom.js";

export const rowHeight = 32;

/** The columns: how each sorts, and what it tells of a key. Those of changes are there once there are any. */
const columns = [
  { name: "token", title: "Key", order: "key" },
  { name: "preview", title: "Value" },
  { name: "size", title: "Size", order: "size", text: ({ size }) => (size === undefined ? "" : bytes(size)) },
  { name: "by", title: "Writer" },
  { name: "changes", title: "Changes", text: ({ changes }) => (changes ? `${amount(changes)}×` : "") },
  { name: "rate-of", title: "Rate", order: "rate", text: ({ rate }) => (rate >= 0.05 ? `${amount(rate)}/s` : "") },
  { name: "age", title: "Age", order: "time", text: ({ when }) => (when ? age(Date.parse(when)) : "") },
];

/** The heads. `sort` is called with the order that was chosen. */
export class ColumnHeads {
  constructor(sort) {
    this.cells = columns.map(({ name, title, order }) =>
      el("span", { class: name, role: "columnheader", data: { order } },
        order ? el("button", { onclick: () => sort(order) }, title) : title));
    this.element = el("div", { class: "heads", role: "row" }, el("span", { class: "twist" }), ...this.cells);
    this.show("key");
  }

  show(order) {
    for (const cell of this.cells) {
      if (cell.dataset.order !== order) cell.removeAttribute("aria-sort");
      else cell.setAttribute("aria-sort", order === "key" ? "ascending" : "descending");
    }
  }
}

let rowNumber = 0;

/** One row on the screen. */
export class TreeRow {
  /** `acts` are what can be done with the key, each a title and a function. */
  constructor(path, chosen, acts) {
    this.path = path;
    this.twist = el("span", { class: "twist", "aria-hidden": "true" });
    this.cells = Object.fromEntries(columns.map(({ name }) => [name, el("span", { class: name })]));
    this.twist.addEventListener("click", (event) => { event.stopPropagation(); chosen(true); });
    this.element = el(
      "div",
      { class: "row", role: "treeitem", id: `row-${(rowNumber += 1)}`, onclick: () => chosen(false) },
      this.twist, ...Object.values(this.cells),
      acts.length === 0 ? null : el("span", { class: "acts" }, ...acts.map(([title, act]) =>
        el("button", { tabindex: "-1", onclick: (event) => { event.stopPropagation(); act(path); } }, title))),
    );
    this.element.dataset.key = path;
  }

  show(row, entry, isSelected) {
    Object.assign(this, { isOpen: row.isOpen, twig: row.twig });
    const { element } = this;
    element.style.transform = `translateY(${row.place * rowHeight}px)`;
    element.style.setProperty("--depth", row.depth);
    element.setAttribute("aria-level", row.depth + 1);
    element.setAttribute("aria-selected", isSelected);
    if (row.isBranch) element.setAttribute("aria-expanded", row.isOpen);
    else element.removeAttribute("aria-expanded");
    element.classList.toggle("is-key", row.twig.isKey);
    this.cells.token.textContent = shown(row.twig.token);
    if (!row.twig.isKey) {
      this.cells.preview.textContent = row.isOpen ? "" : keyCount(row.twig.count);
    } else if (entry) this.fill(entry);
  }

  fill(entry) {
    if (entry.text !== undefined && entry.text !== this.text) {
      this.text = entry.text;
      this.cells.preview.textContent = shown(entry.text);
    }
    if (entry.by !== this.writer || entry.live !== this.isLive) {
      [this.writer, this.isLive] = [entry.by, entry.live];
      put(this.cells.by, entry.by === undefined ? null : clientName(entry.by, entry.live === false));
    }
    this.tick(entry);
  }

  tick(entry) {
    for (const { name, text } of columns) if (text) this.cells[name].textContent = text(entry ?? {});
    this.cells.age.title = entry?.when ?? "";
  }

  flash(entry) {
    if (this.twig.isKey) this.tick(entry);
    this.element.classList.remove("flash", "flash-again");
    this.isOdd = !this.isOdd;
    this.element.classList.add(this.isOdd ? "flash" : "flash-again");
  }
}
