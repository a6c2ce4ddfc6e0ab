// The view of causes: each write or call is a row, the newest on top, and each client a lane. Thin lines go from a
// writer to those that were told, with the microseconds that took. Where that made one of them write, the
// line goes on along its lane up to the effect. On a busy bus the broker sends samples, so that watching
// costs nothing.

import { el, put, amount, clientName, colour, microseconds, now, shown, svg, throttled, utc } from "./dom.js";
import { chain, pretty } from "./key.js";
import { member } from "./json.js";
import { drawCauses } from "./lanes.js";

const rowsMax = 120;
const lanesMax = 14;
/** The first so many writes of each second are traced. */
const tracesMax = 120;
const noteMilliseconds = 3000;
const seedsMax = 24;
const aimMilliseconds = 1200;
/** So many of those that were told are named in a row. */
const chipsMax = 3;
export const rowHeight = 44;

/** What became of it for one that was told, or of a call. */
const outcomeText = ({ outcome, code }) => shown(code ? `${outcome}: ${code}` : outcome);

export class CausesView {
  constructor(bus, frame) {
    Object.assign(this, { bus, frame, rows: [], lanes: [], number: 0, pattern: "**" });
    this.selected = null;
    this.build();
    this.drawSoon = throttled(150, () => this.draw());
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.scroller);
    this.listen();
    this.forget = bus.link.onState(() => this.seed());
  }

  open() {}

  close() {
    this.isClosed = true;
    this.forget();
    this.watch?.stop();
    clearTimeout(this.noteTimer);
    this.resized.disconnect();
  }

  build() {
    this.search = el("input", {
      type: "search", placeholder: "Keys: ** or a pattern such as cart.**", spellcheck: "false",
      "aria-label": "Keys to trace", autocomplete: "off", onchange: () => this.searched(),
    });
    this.hold = el("button", { class: "hold", "aria-pressed": "false", onclick: () => this.toggleHold() }, "Hold");
    this.note = el("span", { class: "total" });
    this.head = el("div", { class: "lane-names", "aria-hidden": "true" });
    this.picture = svg("svg", { class: "lanes", "aria-hidden": "true" });
    this.list = el("ol", { class: "writes", "aria-label": "Writes, the newest first" });
    this.body = el("div", {
      class: "timeline",
      onpointermove: (event) => { if (event.pointerType === "mouse") this.movedAt = performance.now(); },
      onpointerleave: () => { this.movedAt = undefined; this.drawSoon(); },
    }, this.picture, this.list);
    this.empty = el("div", { class: "waiting" },
      el("p", {}, "Waiting for writes. Each one appears here, with what it causes."),
      el("p", {}, "Try it: ", el("code", {}, "plugboard publish hello '\"world\"'")));
    this.scroller = el("div", { class: "timeline-scroll" }, this.head, this.empty, this.body);
    this.side = el("aside", { class: "side", "aria-label": "The write" });
    this.frame.append(
      el("section", { class: "main" },
        el("div", { class: "tools" }, this.search, this.hold, this.note), this.scroller),
      this.side);
  }

  listen() {
    this.watch?.stop();
    this.note.textContent = "";
    this.watch = this.bus.link.watch({ op: "trace", key: this.pattern, limit: tracesMax, every: 1000 },
      (event) => this.take(event));
  }

  searched() {
    this.pattern = this.search.value.trim() || "**";
    this.rows = [];
    this.lanes = [];
    this.hasSeeded = false;
    this.select(null);
    this.listen();
    this.seed();
    this.draw();
  }

  toggleHold() {
    this.isHeld = !this.isHeld;
    this.hold.setAttribute("aria-pressed", this.isHeld);
    this.drawSoon();
  }

  take(event) {
    if (event?.event === "refused") this.note.textContent = shown(event.message);
    if (event?.event !== "trace") return;
    if (event.rests) this.tellSamples();
    if (event.op === "call") return this.takeCall(event);
    const own = this.bus.link.greeting?.client;
    const observers = event.observers.filter((observer) => observer.client !== own);
    this.add({ ...event, observers, at: now() });
    this.drawSoon();
  }

  /** The server of a call stands in its row as one that was told. The row is renewed when the call is over. */
  takeCall(event) {
    const { server, outcome, code, microseconds: took } = event;
    const observers = server ? [{ ...server, outcome, code, microseconds: took }] : [];
    const known = event.call && this.rows.find((row) => row.call === event.call);
    if (!known) {
      this.add({ ...event, observers, at: now() });
    } else {
      // What its server writes names the revision at which it was asked.
      const revision = known.outcome === "held" ? event.revision : known.revision;
      Object.assign(known, { observers, outcome, code, revision });
      if (server) this.lane(server.name);
    }
    this.drawSoon();
  }

  tellSamples() {
    this.note.textContent = "A busy bus: these are samples. A pattern shows all of a part.";
    clearTimeout(this.noteTimer);
    this.noteTimer = setTimeout(() => (this.note.textContent = ""), noteMilliseconds);
  }

  /** Adds a row on top, and finds its cause among the rows below. */
  add(write) {
    const row = { ...write, number: (this.number += 1), effects: [] };
    if (row.cause !== undefined) {
      const candidates = this.rows.filter((other) => other.revision === row.cause);
      row.origin = candidates.find((other) => other.key === row.causeKey)
        ?? candidates.find((other) => other.op === "call" && other.observers.some((told) => told.name === row.by))
        ?? candidates.find((other) => other.observers.some((told) => told.name === row.by))
        ?? candidates[0] ?? null;
      row.origin?.effects.push(row);
    }
    this.rows.unshift(row);
    for (const name of [row.by, ...row.observers.map((observer) => observer.name)]) this.lane(name);
    while (this.rows.length > rowsMax) this.rows.pop();
  }

  lane(name) {
    if (this.lanes.includes(name) || this.lanes.length >= lanesMax) return;
    this.lanes.push(name);
  }

  /** Begins with the last writes that the broker remembers, so that a quiet bus isn't an empty page. */
  async seed() {
    if (this.hasSeeded || this.bus.link.state !== "live") return;
    this.hasSeeded = true;
    try {
      const page = await this.bus.link.ask({ op: "keys", key: this.pattern, limit: 10000 });
      const newest = page.keys.toSorted((a, b) => b.revision - a.revision).slice(0, seedsMax);
      const asked = newest.map(({ key }) =>
        this.bus.link.ask({ op: "why", key, limit: 6 }).then((reply) => reply.chain, () => []));
      const steps = new Map();
      for (const found of await Promise.all(asked)) {
        for (const [at, step] of found.entries()) {
          if (step.when) steps.set(`${step.revision} ${step.key}`, { ...step, causeKey: found[at + 1]?.key });
        }
      }
      if (this.isClosed || this.rows.length > 0) return;
      const inOrder = [...steps.values()].sort((a, b) => a.when < b.when ? -1 : a.when > b.when ? 1
        : a.revision - b.revision);
      for (const step of inOrder.slice(-rowsMax)) {
        this.add({ ...step, observers: [], at: Date.parse(step.when), isOld: true });
      }
      this.draw();
    } catch {
      // The state says why.
    }
  }

  /** Rows don't move away from a mouse that is on its way to one of them. */
  draw() {
    if (this.isClosed) return;
    const isAimed = performance.now() - (this.movedAt ?? -Infinity) < aimMilliseconds;
    if ((isAimed || this.isHeld) && this.rows.length > 0 && this.shownRows > 0) {
      const waiting = this.number - (this.shownNumber ?? 0);
      this.hold.textContent = waiting > 0 ? `Hold · ${amount(waiting)} new` : "Hold";
      if (!this.isHeld) setTimeout(() => this.drawSoon(), aimMilliseconds);
      return;
    }
    this.hold.textContent = "Hold";
    this.shownNumber = this.number;
    this.redraw();
  }

  redraw() {
    const added = this.topNumber === undefined ? 0 : this.rows.findIndex((row) => row.number === this.topNumber);
    this.topNumber = this.rows[0]?.number;
    this.shownRows = this.rows.length;
    this.empty.hidden = this.rows.length > 0;
    const layout = this.layout();
    this.shownList = this.rows.slice();
    drawCauses(this.picture, this.head, this.shownList, layout);
    this.body.style.height = `${this.rows.length * rowHeight}px`;
    this.scroller.style.setProperty("--lanes", `${layout.width}px`);
    put(this.list, ...this.shownList.map((row) => this.item(row)));
    if (added > 0 && this.scroller.scrollTop > rowHeight) this.scroller.scrollTop += added * rowHeight;
    this.light();
  }

  /** Where the lanes are: as wide as there is room for. */
  layout() {
    const room = this.scroller.clientWidth;
    const isNarrow = room < 700;
    const share = room * (isNarrow ? 0.46 : 0.56) - (isNarrow ? 0 : 110);
    const count = Math.max(1, this.lanes.length);
    const step = Math.max(isNarrow ? 20 : 34, Math.min(132, share / count));
    return { lanes: this.lanes, step, width: Math.ceil(step * count), isNarrow };
  }

  item(row) {
    const told = row.observers.filter((observer) => observer.outcome !== "filtered");
    const names = told.slice(0, chipsMax).map((observer) =>
      el("span", { class: "chip", data: { outcome: observer.outcome }, style: { "--own": colour(observer.name) } },
        el("b", {}, shown(observer.name)),
        row.op === "call" && row.outcome !== "answered" || observer.microseconds === undefined
          ? outcomeText(observer) : microseconds(observer.microseconds)));
    if (told.length > chipsMax) names.push(el("span", { class: "chip" }, `+${told.length - chipsMax}`));
    if (told.length === 0 && !row.isOld) names.push(el("span", { class: "chip nobody" },
      row.op === "call" ? shown(row.code ?? row.outcome) : "nobody"));
    return el("li", { data: { number: row.number, key: row.key } },
      el("button", { class: "write", onclick: () => this.select(row.number) },
        el("time", {}, utc(row.at), el("small", {}, `r ${row.revision}`)),
        el("span", { class: "lane-space" }),
        el("span", { class: "write-text" },
          el("span", { class: "write-key" }, shown(row.key)),
          el("span", { class: "write-by" }, el("i", { style: { "--own": colour(row.by) } }), shown(row.by),
            row.op === "publish" ? null : el("span", { class: "op", data: { op: row.op } }, row.op))),
        el("span", { class: "told" }, ...names)));
  }

  /** The rows that led to a row, and those that it led to. */
  family(row) {
    const found = new Set();
    for (let step = row; step && !found.has(step); step = step.origin) found.add(step);
    const visit = (step) => {
      found.add(step);
      for (const effect of step.effects) if (!found.has(effect)) visit(effect);
    };
    visit(row);
    return found;
  }

  light() {
    const row = this.selected;
    const lit = row ? new Set([...this.family(row)].map((step) => String(step.number))) : null;
    this.scroller.classList.toggle("has-lit", lit !== null);
    for (const part of this.body.querySelectorAll("[data-number]")) {
      part.classList.toggle("lit", lit?.has(part.dataset.number) ?? false);
      part.classList.toggle("chosen", row !== null && part.dataset.number === String(row.number));
    }
  }

  select(number) {
    const row = number === null ? null : this.shownList.find((candidate) => candidate.number === number);
    this.selected = row === this.selected ? null : row ?? null;
    this.frame.classList.toggle("has-detail", this.selected !== null);
    put(this.side);
    this.light();
    if (!this.selected) return;
    this.list.querySelector(".chosen")?.scrollIntoView({ block: "nearest" });
    this.explain(this.selected);
  }

  /** Shows a write beside the timeline: its value, its chain of causes, who was told. */
  async explain(row) {
    const value = el("div", { class: "value-box" });
    const why = el("section", { class: "card why" }, el("h3", {}, "Why"));
    const told = row.observers.map((observer) =>
      el("div", { class: "observer" }, clientName(observer.name),
        el("span", { class: "mark-outcome", data: { outcome: observer.outcome } }, outcomeText(observer)),
        el("span", { class: "took" },
          observer.microseconds === undefined ? "" : microseconds(observer.microseconds))));
    put(
      this.side,
      el("div", { class: "side-head" },
        el("h2", { class: "key-title" },
          el("a", { href: `#/keys/${encodeURIComponent(row.key)}` }, shown(row.key))),
        el("button", { class: "close", "aria-label": "Close", onclick: () => this.select(null) }, "×")),
      el("div", { class: "meta" }, clientName(row.by), el("span", {}, `revision ${row.revision}`),
        el("span", {}, row.op)),
      why,
      el("section", { class: "card" }, el("h3", {}, row.op === "call" ? "Asked" : "Told"),
        ...(told.length ? told : [el("p", { class: "empty" }, row.isOld ? "Not seen by this page." : "Nobody.")])),
      el("section", { class: "card" }, el("h3", {}, "Value now"), value),
    );
    why.append(chain(...await this.steps(row)));
    try {
      const reply = await this.bus.link.ask({ op: "get", key: row.key });
      if (reply.revision !== row.revision) {
        value.append(el("p", { class: "empty" }, `Written again since, as revision ${reply.revision}.`));
      }
      value.append(pretty(member(reply.text, "value")));
    } catch (error) {
      value.append(el("p", { class: "empty" }, row.op === "emit" ? "An emit keeps no value."
        : row.op === "call" ? "A call keeps no value." : shown(error.message)));
    }
  }

  /** The chain of a write: the broker's, if it is still the key's newest one, or else as far as it is seen here. */
  async steps(row) {
    try {
      const reply = await this.bus.link.ask({ op: "why", key: row.key });
      if (reply.chain[0]?.revision === row.revision) return [reply.chain, reply.truncated || reply.more];
    } catch {
      // Then what is seen here has to do.
    }
    const steps = [];
    for (let step = row; step; step = step.origin) steps.push(step);
    return [steps, steps.at(-1).cause !== undefined];
  }
}
