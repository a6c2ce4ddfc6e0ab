// The view of all keys: a tree whose rows change in place. It subscribes only to the rows on the screen,
// at most 64 of them and ten times a second each. What closed branches do shows as a pulse, and is asked
// for without values, and only on a small bus; on a busy one it is seen by the revisions in the lists of
// keys, from which the tree comes. Sorted by a column, the keys are a list.

import { el, put, emptyText, fromSearch, isHealth, keyCount, throttled } from "./dom.js";
import { KeyFacts } from "./facts.js";
import { KeyPanel } from "./key.js";
import { KeyWatch, PacedWatch, scanValues } from "./pace.js";
import { ColumnHeads, TreeRow, rowHeight } from "./rows.js";
import { Tree, searching } from "./tree.js";

/** The most keys of a bus whose closed branches are listened to. */
const pulseKeysMax = 1000;
const listMilliseconds = 2000;

export class KeysView {
  constructor(bus, frame) {
    Object.assign(this, { bus, frame, tree: new Tree(), facts: new KeyFacts(), opened: new Set() });
    this.closed = new Set();
    this.hits = new Set();
    this.rows = [];
    this.drawn = new Map();
    this.selected = null;
    this.filter = null;
    this.order = "key";
    this.build();
    this.panel = new KeyPanel(bus, this.side, () => (location.hash = "#/keys"));
    this.layOut = throttled(120, () => this.arrange());
    this.lookSoon = throttled(150, () => this.look());
    this.scanSoon = throttled(400, () => this.scan());
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
    this.scanning?.stop();
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
      onkeydown: fromSearch(() => {
        this.arrange();
        this.scroller.focus();
        if (!this.rows.some((row) => row.twig.path === this.selected)) this.select(0);
      }),
    });
    this.inValues = el("input", { type: "checkbox", onchange: () => this.searched() });
    this.heads = new ColumnHeads((order) => this.sort(order));
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
    this.empty = el("div", { class: "empty", hidden: true });
    this.side = el("aside", { class: "side", "aria-label": "The key" });
    const head = el("div", { class: "tools" }, this.search,
      el("label", { class: "check" }, this.inValues, "in values"), this.total);
    this.table = el("section", { class: "main keys-table", data: { order: "key" } }, head, this.heads.element, this.empty, this.scroller);
    this.frame.append(this.table, this.side);
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
        this.compare(page.keys);
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

  /** Which keys were written since the last list, and whose writers are gone by now. */
  compare(entries) {
    for (const { key, revision, live } of entries) {
      const isNews = this.facts.list(key, revision) && this.pulse?.isResting && !this.watched?.has(key);
      if (isNews) this.count({ key, revision });
      const entry = this.facts.get(key);
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
    this.filter = searching(this.search.value, this.hits);
    this.hits.clear();
    this.closed.clear();
    if (wasOwn !== this.pattern) this.list();
    if (this.isScanned()) this.scanSoon();
    this.scroller.scrollTop = 0;
    this.layOut();
  }

  sort(order) {
    this.order = order === this.order ? "key" : order;
    this.heads.show(this.order);
    this.table.dataset.order = this.order;
    if (this.isScanned()) this.scanSoon();
    this.scroller.scrollTop = 0;
    this.arrange();
  }

  /** Whether all values have to be looked at. */
  isScanned() {
    return this.order === "size" || (this.inValues.checked && this.filter !== null);
  }

  /** Looks once at all values: how long they are, and which contain what is sought. */
  async scan() {
    if (this.isClosed) return;
    const words = this.inValues.checked ? this.search.value.trim().toLowerCase() : "";
    this.scanning?.stop();
    this.scanning = scanValues(this.bus.link, { key: this.ownPattern() ?? "**" }, ({ key }, text) => {
      this.facts.weigh(key, text);
      if (words !== "" && text.toLowerCase().includes(words)) this.hits.add(key);
    });
    const isWhole = await this.scanning.end;
    this.note = isWhole ? "" : ", of which only some values were looked at";
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
      this.facts.delete(event.key);
      this.layOut();
    }
  }

  count(event) {
    const entry = this.facts.count(event);
    if (!entry) return;
    this.table.classList.add("has-changes");
    for (const [path, row] of this.drawn) {
      if (event.key === path || (event.key.startsWith(`${path}.`) && !row.isOpen)) row.flash(entry);
    }
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
    this.rows = this.order === "key" ? tree.rows((twig) => this.isOpen(twig)) : this.sorted(tree.keys);
    this.canvas.style.height = `${this.rows.length * rowHeight}px`;
    this.total.textContent = `${keyCount(tree.count)}${this.note ?? ""}`;
    // A dashboard tells how it is, so no bus is quite empty.
    this.empty.hidden = this.filter === null ? ![...tree.keys].every(isHealth) : tree.count > 0;
    put(this.empty, ...(this.filter === null
      ? emptyText("The bus has no keys yet. Try it: ", "plugboard publish hello '\"world\"'")
      : emptyText("No key matches. Try a part of a key, or a pattern: ", "**",
        this.inValues.checked ? "" : " To search what they have, choose “in values”.")));
    this.draw();
    this.look();
  }

  /** A list of keys, the first by their measure on top. */
  sorted(keys) {
    const measured = [...keys].map((key) => [key, this.facts.measure(this.order, key)]);
    measured.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    return measured.map(([key]) =>
      ({ twig: { path: key, token: key, isKey: true }, depth: 0, isBranch: false, isOpen: false }));
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
        drawn = new TreeRow(path, (toggles) => this.chosen(path, toggles), this.acts());
        this.drawn.set(path, drawn);
        this.canvas.append(drawn.element);
      }
      drawn.show(row, this.facts.get(path), path === this.selected);
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
      const entry = this.facts.take(event);
      if (!event.initial) this.count(event);
      this.drawn.get(event.key)?.fill(entry);
    } else if (event?.event === "delete") {
      this.pulsed(event);
    }
  }

  tick() {
    this.facts.decay();
    // Rows don't move away from a mouse.
    if (["rate", "time"].includes(this.order) && !this.scroller.matches(":hover")) this.layOut();
    for (const [path, row] of this.drawn) row.tick(this.facts.get(path));
  }

  chosen(path, toggles) {
    const row = this.rows.find((candidate) => candidate.twig.path === path);
    if (!row) return;
    this.selected = path;
    if (row.isBranch && (toggles || !row.twig.isKey)) this.toggle(row);
    else if (row.twig.isKey) location.hash = `#/keys/${encodeURIComponent(path)}`;
    this.draw();
  }

  /** What can be done with a key in the list. */
  acts() {
    if (!this.bus.link.writes) return [];
    return [["TTL…", (key) => this.bus.askForm.limit(key)], ["Delete…", (key) => this.bus.askForm.remove(key)]];
  }

  /** The key whose page is open, and its value. */
  openKey() {
    return [this.panel.key, this.panel.text];
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
    else if (event.key === "Delete" && row?.twig.isKey && this.bus.link.writes) this.bus.askForm.remove(row.twig.path);
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
