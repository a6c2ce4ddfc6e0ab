// The view of causes: each write or call is a row, the newest on top, and each client a lane. Thin lines go from a
// writer to those that were told, with the microseconds that took. Where that made one of them write, the
// line goes on along its lane up to the effect. On a busy bus the broker sends samples, so that watching
// costs nothing.

import { el, put, amount, card, clientName, colour, emptyText, isHealth, microseconds, now, panelHead, shown, svg,
  throttled, utc } from "./dom.js";
import { chain, pretty } from "./key.js";
import { drawCauses } from "./lanes.js";
import { recording } from "./recording.js";
import { WrittenValues, isSet } from "./values.js";

const rowsMax = 120;
/** So many clients can be chosen. */
const clientsMax = 200;
/** So many lanes are drawn unless others are chosen. */
const lanesMax = 14;
/** The first so many writes of each second are traced. */
const tracesMax = 120;
const noteMilliseconds = 3000;
const seedsMax = 24;
const aimMilliseconds = 1200;
/** So many of those that were told are named in a row. */
const chipsMax = 3;
export const rowHeight = 44;

/** Who takes part in a row: its writer or caller, and who was told or asked. */
const clients = (row) =>
  [row.by, ...row.observers.filter(({ outcome }) => outcome !== "filtered").map(({ name }) => name)];

/** What became of it for one that was told, or of a call. */
const outcomeText = ({ outcome, code }) => shown(code ? `${outcome}: ${code}` : outcome);

export class CausesView {
  constructor(bus, frame) {
    Object.assign(this, { bus, frame, rows: [], clients: [], lanes: [], chosen: new Set(), number: 0, pattern: "**" });
    this.selected = null;
    this.build();
    this.drawSoon = throttled(150, () => this.draw());
    this.values = new WrittenValues(bus.link, this.rows, this.drawSoon);
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
    this.values.close();
    clearTimeout(this.noteTimer);
    this.resized.disconnect();
  }

  build() {
    this.search = el("input", {
      type: "search", placeholder: "Keys: ** or a pattern such as cart.**", spellcheck: "false",
      "aria-label": "Keys to trace", autocomplete: "off", onchange: () => this.searched(),
    });
    this.hold = el("button", { class: "hold", "aria-pressed": "false", onclick: () => this.toggleHold() }, "Hold");
    this.lanesTitle = el("summary", {});
    this.lanesList = el("div", { tabindex: "-1" });
    const choice = el("details", { class: "choice", onfocusout: (event) => {
      if (!choice.contains(event.relatedTarget)) choice.open = false;
    } }, this.lanesTitle, this.lanesList);
    this.keep = el("button", { onclick: () => this.save(), title: "as a recording, for plugboard replay" }, "Save");
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
      ...emptyText("Try it: ", "plugboard publish hello '\"world\"'"));
    this.scroller = el("div", { class: "timeline-scroll" }, this.head, this.empty, this.body);
    this.side = el("aside", { class: "side", "aria-label": "The write" });
    this.frame.append(
      el("section", { class: "main" },
        el("div", { class: "tools" }, this.search, choice, this.hold, this.keep, this.note), this.scroller),
      this.side);
  }

  listen() {
    this.watch?.stop();
    this.note.textContent = "";
    this.values.listen(this.pattern);
    this.watch = this.bus.link.watch({ op: "trace", key: this.pattern, limit: tracesMax, every: 1000 },
      (event) => this.take(event));
  }

  searched() {
    this.pattern = this.search.value.trim() || "**";
    this.rows.length = 0;
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
    if (event.op === "call") {
      this.takeCall(event);
    } else {
      const own = this.bus.link.greeting?.client;
      const observers = event.observers.filter((observer) => observer.client !== own);
      this.add({ ...event, text: undefined, observers, at: now() });
    }
    if (event.rests) {
      this.tellSamples();
      this.values.rest();
    }
    this.drawSoon();
  }

  /** The server of a call stands in its row as one that was told. The row is renewed when the call is over. */
  takeCall(event) {
    const { server, outcome, code, microseconds: took } = event;
    const observers = server ? [{ ...server, outcome, code, microseconds: took }] : [];
    const known = event.call && this.rows.find((row) => row.call === event.call);
    if (!known) {
      this.add({ ...event, text: undefined, observers, at: now() });
    } else {
      // What its server writes names the revision at which it was asked.
      const revision = known.outcome === "held" ? event.revision : known.revision;
      Object.assign(known, { observers, outcome, code, revision });
    }
  }

  tellSamples() {
    this.note.textContent = "A busy bus: these are samples. A pattern shows all of a part.";
    clearTimeout(this.noteTimer);
    this.noteTimer = setTimeout(() => (this.note.textContent = ""), noteMilliseconds);
  }

  /** Adds a row on top, and finds its cause among the rows below. */
  add(write) {
    const row = { ...write, number: (this.number += 1), effects: [] };
    this.values.claim(row);
    if (row.cause !== undefined) {
      const candidates = this.rows.filter((other) => other.revision === row.cause);
      row.origin = candidates.find((other) => other.key === row.causeKey)
        ?? candidates.find((other) => other.op === "call" && other.observers.some((told) => told.name === row.by))
        ?? candidates.find((other) => other.observers.some((told) => told.name === row.by))
        ?? candidates[0] ?? null;
      row.origin?.effects.push(row);
    }
    this.rows.unshift(row);
    // A row would otherwise keep all that led to it.
    while (this.rows.length > rowsMax) for (const effect of this.rows.pop().effects) effect.origin = null;
  }

  /** Begins with the last writes that the broker remembers, so that a quiet bus isn't an empty page. */
  async seed() {
    if (this.hasSeeded || this.bus.link.state !== "live") return;
    this.hasSeeded = true;
    try {
      // What is written until the traces begin is among the last writes, and what comes later is traced. Watches
      // begin when all have heard of the new state.
      await null;
      const { watch } = this;
      await watch.beginning;
      const page = await this.bus.link.ask({ op: "keys", key: this.pattern, limit: 10000 });
      const newest = page.keys.toSorted((a, b) => b.revision - a.revision).slice(0, seedsMax);
      const asked = newest.map(({ key }) =>
        this.bus.link.ask({ op: "why", key, limit: 6 }).then((reply) => reply.chain, () => []));
      const steps = new Map();
      for (const found of await Promise.all(asked)) {
        for (const [at, step] of found.entries()) {
          const { op, revision, key, when } = step;
          if (when) steps.set(`${op} ${revision} ${key}`, { ...step, causeKey: found[at + 1]?.key });
        }
      }
      if (this.isClosed || watch !== this.watch) return;
      const traced = this.rows.splice(0).reverse();
      for (const { op, revision, key } of traced) steps.delete(`${op} ${revision} ${key}`);
      const inOrder = [...steps.values()].sort((a, b) => a.when < b.when ? -1 : a.when > b.when ? 1
        : a.revision - b.revision);
      for (const step of inOrder.slice(-rowsMax)) {
        this.add({ ...step, observers: [], at: Date.parse(step.when), isOld: true });
      }
      for (const row of traced) this.add(row);
      this.values.ask();
      this.draw();
    } catch {
      // The state says why.
    }
  }

  /** Rows don't move away from a mouse that is on its way to one of them. */
  draw() {
    if (this.isClosed) return;
    const isAimed = performance.now() - (this.movedAt ?? -Infinity) < aimMilliseconds;
    if ((isAimed || this.isHeld) && this.rows.length > 0 && this.shownList?.length > 0) {
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
    this.chooseLanes();
    const shownList = this.rows.filter((row) =>
      this.chosen.size === 0 || clients(row).some((name) => this.chosen.has(name)));
    const added = shownList.findIndex((row) => row.number === this.shownList?.[0]?.number);
    this.shownList = shownList;
    this.empty.hidden = !this.rows.every(({ key }) => isHealth(key));
    this.keep.disabled = shownList.length === 0;
    const layout = this.layout();
    drawCauses(this.picture, this.head, shownList, layout);
    this.body.style.height = `${shownList.length * rowHeight}px`;
    this.scroller.style.setProperty("--lanes", `${layout.width}px`);
    put(this.list, ...shownList.map((row) => this.item(row)));
    if (added > 0 && this.scroller.scrollTop > rowHeight) this.scroller.scrollTop += added * rowHeight;
    this.light();
  }

  /** Each client of a row has a lane, in the order in which they came. One that is chosen stays. */
  chooseLanes() {
    const present = new Set([...this.rows.toReversed().flatMap(clients), ...this.chosen]);
    const kept = this.clients.filter((name) => present.has(name));
    const names = [...new Set([...kept, ...present])].slice(0, clientsMax);
    this.lanes = this.chosen.size > 0 ? names.filter((name) => this.chosen.has(name)) : names.slice(0, lanesMax);
    const isSame = names.join("\n") === this.clients.join("\n") && this.lanesList.firstChild;
    this.clients = names;
    this.lanesTitle.textContent = this.chosen.size === 0 ? "All lanes"
      : this.chosen.size === 1 ? "1 lane" : `${this.chosen.size} lanes`;
    if (isSame) return;
    put(this.lanesList, el("p", { class: "empty" }, "Only these, and what they write or are told:"),
      ...names.map((name) => el("label", { class: "check" },
        el("input", { type: "checkbox", checked: this.chosen.has(name), onchange: (event) => {
          if (event.target.checked) this.chosen.add(name);
          else this.chosen.delete(name);
          this.redraw();
        } }), clientName(name))));
  }

  /** Saves the rows that are shown as a recording. */
  async save() {
    const rows = this.shownList.toReversed();
    const whole = await Promise.all(rows.map(async (row) => ({ ...row, text: await this.values.whole(row) })));
    const { text, dropped } = recording(whole, this.pattern, this.bus.link.greeting);
    const address = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
    el("a", { href: address, download: "causes.ndjson" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    this.note.textContent = "Saved: plugboard replay causes.ndjson"
      + (dropped > 0 ? `. Left out, because their values aren't known any more: ${dropped}.` : "");
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
          el("span", { class: "write-what" }, el("span", { class: "write-key" }, shown(row.key)),
            row.preview === undefined ? null : el("span", { class: "write-value" }, shown(row.preview))),
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
    const row = number === null ? null : this.shownList?.find((candidate) => candidate.number === number);
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
    const why = el("div", { class: "why" });
    const told = row.observers.map((observer) =>
      el("div", { class: "observer" }, clientName(observer.name),
        el("span", { class: "mark-outcome", data: { outcome: observer.outcome } }, outcomeText(observer)),
        el("span", { class: "took" },
          observer.microseconds === undefined ? "" : microseconds(observer.microseconds))));
    put(
      this.side,
      panelHead(el("h2", { class: "key-title" },
        el("a", { href: `#/keys/${encodeURIComponent(row.key)}` }, shown(row.key))), () => this.select(null)),
      el("div", { class: "meta" }, clientName(row.by), el("span", {}, `revision ${row.revision}`),
        el("span", {}, row.op)),
      row.op === "call" || row.op === "delete" ? null
        : card("Value that it set", value),
      card("Why", why),
      card(row.op === "call" ? "Asked" : "Told",
        ...(told.length ? told : [el("p", { class: "empty" }, row.isOld ? "Not seen by this page." : "Nobody.")])),
    );
    this.showValue(row, value);
    why.append(chain(...await this.steps(row)));
  }

  /** Shows what a write set, whether or not it is still there. */
  async showValue(row, box) {
    const text = await this.values.whole(row);
    put(box, text === undefined ? el("p", { class: "empty" }, "Nobody knows it any more.") : pretty(text));
    if (!isSet(row)) return;
    try {
      const { revision } = await this.bus.link.ask({ op: "get", key: row.key });
      if (revision !== row.revision) {
        box.append(el("p", { class: "empty" }, `Written again since, as revision ${revision}.`));
      }
    } catch {
      box.append(el("p", { class: "empty" }, "Deleted since."));
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
