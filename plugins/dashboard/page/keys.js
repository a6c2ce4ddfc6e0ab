// The view of all keys: a tree whose rows change in place. It subscribes only to the rows on the screen,
// at most 64 of them and ten times a second each. What closed branches do shows as a pulse, and is asked
// for without values, and only on a small bus; on a busy one it is seen by the revisions in the lists of
// keys, from which the tree comes.

import { el, put, age, amount, clientName, now, shown, throttled } from "./dom.js";
import { member } from "./json.js";
import { KeyPanel } from "./key.js";
import { KeyWatch, PacedWatch } from "./pace.js";
import { Tree, searching } from "./tree.js";

const rowHeight = 32;
/** The most keys of a bus whose closed branches are listened to. */
const pulseKeysMax = 1000;
const listMilliseconds = 2000;
const previewMax = 240;

export class KeysView {
  constructor(bus, frame) {
    Object.assign(this, { bus, frame, tree: new Tree(), known: new Map(), opened: new Set() });
    this.closed = new Set();
    this.listed = new Map();
    this.rows = [];
    this.drawn = new Map();
    this.selected = null;
    this.filter = null;
    this.build();
    this.panel = new KeyPanel(bus, this.side, () => (location.hash = "#/keys"));
    this.layOut = throttled(120, () => this.arrange());
    this.lookSoon = throttled(150, () => this.look());
    this.forget = bus.link.onState(() => this.list());
    this.clock = setInterval(() => this.tick(), 1000);
    this.resized = new ResizeObserver(() => { this.draw(); this.lookSoon(); });
    this.resized.observe(this.scroller);
  }

  close() {
    this.isClosed = true;
    this.forget();
    clearInterval(this.clock);
    clearTimeout(this.listTimer);
    this.resized.disconnect();
    this.watch?.stop();
    this.pulse?.stop();
    this.panel.close();
  }

  /** Shows a key beside the tree, or none. */
  open(key) {
    this.selected = key ?? this.selected;
    this.frame.classList.toggle("has-detail", key !== null);
    this.panel.show(key);
    if (key !== null) this.reveal(key);
    this.draw();
  }

  build() {
    this.search = el("input", {
      type: "search", placeholder: "Search: text, or a pattern such as cart.**", spellcheck: "false",
      "aria-label": "Search keys", autocomplete: "off", oninput: () => this.searched(),
    });
    this.total = el("span", { class: "total" });
    this.canvas = el("div", { class: "tree-rows" });
    this.scroller = el(
      "div",
      {
        class: "tree", role: "tree", tabindex: "0", "aria-label": "Keys",
        onscroll: () => { this.draw(); this.lookSoon(); },
        onkeydown: (event) => this.pressed(event),
      },
      this.canvas,
    );
    this.empty = el("p", { class: "empty", hidden: true });
    this.side = el("aside", { class: "side", "aria-label": "The key" });
    const head = el("div", { class: "tools" }, this.search, this.total);
    this.frame.append(el("section", { class: "main" }, head, this.empty, this.scroller), this.side);
  }

  /** Asks for all keys, page by page, and again later. */
  async list() {
    clearTimeout(this.listTimer);
    if (this.isClosed || this.bus.link.state !== "live") return;
    const began = performance.now();
    try {
      const keys = [];
      const pattern = this.ownPattern() ?? "**";
      let after;
      do {
        const page = await this.bus.link.ask({ op: "keys", key: pattern, limit: 10000, after });
        for (const entry of page.keys) keys.push(entry.key);
        if (this.pulse?.isResting) this.compare(page.keys);
        this.showLives(page.keys);
        after = page.more ? keys.at(-1) : undefined;
      } while (after !== undefined && !this.isClosed);
      if (this.isClosed) return;
      if (this.tree.replace(keys) || this.total.textContent === "") this.layOut();
      this.listen();
    } catch {
      // The state says why; the next list comes with the next connection.
    }
    const took = performance.now() - began;
    this.listTimer = setTimeout(() => this.list(), Math.max(listMilliseconds, took * 30));
  }

  /** Which keys were written since the last list. */
  compare(entries) {
    for (const { key, revision } of entries) {
      const before = this.listed.get(key);
      this.listed.set(key, revision);
      if (before !== undefined && before < revision && !this.watched?.has(key)) this.count({ key, revision });
    }
  }

  /** Whose writers are gone by now. */
  showLives(entries) {
    for (const { key, revision, live } of entries) {
      const entry = this.known.get(key);
      if (entry?.revision !== revision || entry.live === live) continue;
      entry.live = live;
      this.drawn.get(key)?.fill(entry);
    }
  }

  /** The broker's own keys match only a pattern that spells them out. */
  ownPattern() {
    const text = this.search.value.trim();
    if (!text.startsWith("$")) return null;
    return text.includes("*") ? text : "$broker.**";
  }

  searched() {
    const wasOwn = this.pattern;
    this.pattern = this.ownPattern();
    this.filter = searching(this.search.value);
    this.closed.clear();
    if (wasOwn !== this.pattern) this.list();
    this.scroller.scrollTop = 0;
    this.layOut();
  }

  /** On a small bus, hears which keys are written at all, and which come and go. */
  listen() {
    const isSmall = this.tree.count <= pulseKeysMax;
    if (!isSmall) {
      this.pulse?.stop();
      this.pulse = null;
    }
    if (!isSmall || this.pulse) return;
    this.pulse = new PacedWatch(
      this.bus.link,
      { key: "**", values: false, initial: false, every: 400 },
      (event) => this.pulsed(event),
    );
  }

  pulsed(event) {
    if (event?.event === "update") {
      if (this.tree.add(event.key)) this.layOut();
      // Of a key on the screen, its own subscription tells: both together would count twice what they fold.
      if (!this.watched?.has(event.key)) this.count(event);
    } else if (event?.event === "delete") {
      this.tree.remove(event.key);
      this.known.delete(event.key);
      this.layOut();
    }
  }

  count(event) {
    const entry = this.entry(event.key);
    if (event.revision <= (entry.counted ?? 0)) return;
    entry.counted = event.revision;
    entry.changes += 1 + (event.skipped ?? 0);
    Object.assign(entry, { at: now(), by: event.by ?? entry.by, live: true });
    for (const [path, row] of this.drawn) {
      if (event.key === path || (event.key.startsWith(`${path}.`) && !row.isOpen)) row.flash(entry);
    }
  }

  entry(key) {
    let entry = this.known.get(key);
    if (!entry) this.known.set(key, (entry = { changes: 0 }));
    return entry;
  }

  isOpen(twig) {
    if (this.closed.has(twig.path)) return false;
    return this.filter !== null || this.opened.has(twig.path);
  }

  /** Works out the rows. A small bus begins with everything open. */
  arrange() {
    if (this.isClosed) return;
    if (!this.hasOpened && this.tree.count > 0) {
      this.hasOpened = true;
      if (this.tree.count <= 60) {
        for (const { twig } of this.tree.rows(() => true)) this.opened.add(twig.path);
      }
    }
    let tree = this.tree;
    if (this.filter !== null) {
      tree = new Tree();
      for (const key of this.tree.keys) if (this.filter(key)) tree.add(key);
    }
    this.rows = tree.rows((twig) => this.isOpen(twig));
    this.canvas.style.height = `${this.rows.length * rowHeight}px`;
    this.total.textContent = `${amount(tree.count)} ${tree.count === 1 ? "key" : "keys"}`;
    this.empty.hidden = tree.count > 0;
    this.empty.textContent = this.filter ? "No key matches." : "The bus has no keys yet.";
    this.draw();
    this.look();
  }

  visible() {
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / rowHeight) - 2);
    const count = Math.ceil(this.scroller.clientHeight / rowHeight) + 4;
    return this.rows.slice(first, first + count).map((row, at) => ({ ...row, place: first + at }));
  }

  draw() {
    const wanted = new Map(this.visible().map((row) => [row.twig.path, row]));
    for (const [path, row] of this.drawn) {
      if (wanted.has(path)) continue;
      row.element.remove();
      this.drawn.delete(path);
    }
    for (const [path, row] of wanted) {
      let drawn = this.drawn.get(path);
      if (!drawn) {
        drawn = new TreeRow(path, (toggles) => this.chosen(path, toggles));
        this.drawn.set(path, drawn);
        this.canvas.append(drawn.element);
      }
      drawn.show(row, this.known.get(path), path === this.selected);
    }
    const active = this.drawn.get(this.selected);
    if (active) this.scroller.setAttribute("aria-activedescendant", active.element.id);
    else this.scroller.removeAttribute("aria-activedescendant");
  }

  /** Subscribes to the keys on the screen. */
  look() {
    if (this.isClosed) return;
    const keys = this.visible().filter((row) => row.twig.isKey).map((row) => row.twig.path).slice(0, 64);
    const text = JSON.stringify(keys);
    if (text === this.looked) return;
    this.looked = text;
    this.watched = new Set(keys);
    this.watch?.stop();
    this.watch = keys.length === 0 ? null
      : new KeyWatch(this.bus.link, keys, (event) => this.changed(event));
  }

  changed(event) {
    if (event?.event === "update") {
      const entry = this.entry(event.key);
      entry.text = member(event.text, "value").slice(0, previewMax);
      entry.revision = event.revision;
      if (event.initial) Object.assign(entry, { by: event.by, live: event.live });
      else this.count(event);
      this.drawn.get(event.key)?.fill(entry);
    } else if (event?.event === "delete") {
      this.pulsed(event);
    }
  }

  tick() {
    for (const [path, row] of this.drawn) row.tick(this.known.get(path));
  }

  chosen(path, toggles) {
    const row = this.rows.find((candidate) => candidate.twig.path === path);
    if (!row) return;
    this.selected = path;
    if (row.isBranch && (toggles || !row.twig.isKey)) this.toggle(row);
    else if (row.twig.isKey) location.hash = `#/keys/${encodeURIComponent(path)}`;
    this.draw();
  }

  toggle(row) {
    const path = row.twig.path;
    if (row.isOpen) {
      this.opened.delete(path);
      if (this.filter) this.closed.add(path);
    } else {
      this.opened.add(path);
      this.closed.delete(path);
    }
    this.arrange();
  }

  reveal(key) {
    const tokens = key.split(".");
    for (let count = 1; count < tokens.length; count += 1) this.opened.add(tokens.slice(0, count).join("."));
    this.arrange();
  }

  pressed(event) {
    const at = this.rows.findIndex((row) => row.twig.path === this.selected);
    const row = this.rows[at];
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -1e9, End: 1e9 };
    if (event.key in steps) {
      const next = Math.min(Math.max(at + steps[event.key], 0), this.rows.length - 1);
      this.select(next);
    } else if (event.key === "ArrowRight" && row?.isBranch && !row.isOpen) this.toggle(row);
    else if (event.key === "ArrowLeft" && row?.isOpen) this.toggle(row);
    else if (event.key === "ArrowLeft" && row) {
      const parent = row.twig.path.split(".").slice(0, -1).join(".");
      this.select(this.rows.findIndex((candidate) => candidate.twig.path === parent));
    } else if ((event.key === "Enter" || event.key === " ") && row) this.chosen(row.twig.path, false);
    else return;
    event.preventDefault();
  }

  select(place) {
    if (!this.rows[place]) return;
    this.selected = this.rows[place].twig.path;
    const top = place * rowHeight;
    const bottom = top + rowHeight - this.scroller.clientHeight;
    if (this.scroller.scrollTop > top) this.scroller.scrollTop = top;
    if (this.scroller.scrollTop < bottom) this.scroller.scrollTop = bottom;
    this.draw();
    this.lookSoon();
  }
}

let rowNumber = 0;

/** One row on the screen. */
class TreeRow {
  constructor(path, chosen) {
    this.path = path;
    this.twist = el("span", { class: "twist", "aria-hidden": "true" });
    this.name = el("span", { class: "token" });
    this.value = el("span", { class: "preview" });
    this.by = el("span", { class: "by" });
    this.changes = el("span", { class: "changes" });
    this.age = el("span", { class: "age" });
    this.twist.addEventListener("click", (event) => { event.stopPropagation(); chosen(true); });
    this.element = el(
      "div",
      { class: "row", role: "treeitem", id: `row-${(rowNumber += 1)}`, onclick: () => chosen(false) },
      this.twist, this.name, this.value, this.by, this.changes, this.age,
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
    if (this.name.textContent === "") this.name.textContent = shown(row.twig.token);
    if (!row.twig.isKey) {
      const count = row.twig.count;
      this.value.textContent = row.isOpen ? "" : `${amount(count)} ${count === 1 ? "key" : "keys"}`;
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
    this.age.textContent = entry?.at === undefined ? "" : age(entry.at);
    this.changes.textContent = entry?.changes ? `${amount(entry.changes)}×` : "";
  }

  flash(entry) {
    if (this.twig.isKey) this.tick(entry);
    this.element.classList.remove("flash", "flash-again");
    this.isOdd = !this.isOdd;
    this.element.classList.add(this.isOdd ? "flash" : "flash-again");
  }
}
