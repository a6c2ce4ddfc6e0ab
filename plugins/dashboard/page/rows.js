// The rows of the keys' view, and the heads of their columns.

import { el, put, age, amount, bytes, clientName, keyCount, shown } from "./dom.js";

export const rowHeight = 32;

/** The columns, and by what a click on their heads sorts. Those of changes are there once there are any. */
const columns = [
  { name: "token", title: "Key", order: "key" },
  { name: "preview", title: "Value" },
  { name: "size", title: "Size", order: "size" },
  { name: "by", title: "Writer" },
  { name: "changes", title: "Changes" },
  { name: "rate-of", title: "Rate", order: "rate" },
  { name: "age", title: "Age", order: "time" },
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
    this.name = el("span", { class: "token" });
    this.value = el("span", { class: "preview" });
    this.by = el("span", { class: "by" });
    this.size = el("span", { class: "size" });
    this.changes = el("span", { class: "changes" });
    this.rate = el("span", { class: "rate-of" });
    this.age = el("span", { class: "age" });
    this.twist.addEventListener("click", (event) => { event.stopPropagation(); chosen(true); });
    this.element = el(
      "div",
      { class: "row", role: "treeitem", id: `row-${(rowNumber += 1)}`, onclick: () => chosen(false) },
      this.twist, this.name, this.value, this.size, this.by, this.changes, this.rate, this.age,
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
    this.name.textContent = shown(row.twig.token);
    if (!row.twig.isKey) {
      this.value.textContent = row.isOpen ? "" : keyCount(row.twig.count);
    } else if (entry) this.fill(entry);
  }

  fill(entry) {
    if (entry.text !== undefined && entry.text !== this.text) {
      this.text = entry.text;
      this.value.textContent = shown(entry.text);
    }
    if (entry.by !== this.writer || entry.live !== this.isLive) {
      [this.writer, this.isLive] = [entry.by, entry.live];
      put(this.by, entry.by === undefined ? null : clientName(entry.by, entry.live === false));
    }
    this.tick(entry);
  }

  tick(entry) {
    this.size.textContent = entry?.size === undefined ? "" : bytes(entry.size);
    this.age.textContent = entry?.at === undefined ? "" : age(entry.at);
    this.changes.textContent = entry?.changes ? `${amount(entry.changes)}×` : "";
    this.rate.textContent = entry?.rate >= 0.05 ? `${amount(entry.rate)}/s` : "";
  }

  flash(entry) {
    if (this.twig.isKey) this.tick(entry);
    this.element.classList.remove("flash", "flash-again");
    this.isOdd = !this.isOdd;
    this.element.classList.add(this.isOdd ? "flash" : "flash-again");
  }
}
