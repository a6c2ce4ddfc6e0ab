// A key's last changes as differences, and a plot of a number in them. They begin with what the broker's
// journal still has, and go on with what the page hears.

import { el, put, clientName, present, shown, throttled, timeOfDay } from "./dom.js";
import { differences, kind, leaves, member } from "./json.js";
import { Plot } from "./chart.js";
import { eventsSince } from "./pace.js";

const changesMax = 40;
const pointsMax = 300;
const differencesMax = 8;
/** The most characters of earlier values that the page keeps. */
const charactersMax = 4_000_000;
/** How many revisions to go back for the changes of a key: further if there are few. */
const spans = [1000, 8000, 65536, 500000, 4000000];
/** A large value takes a moment to show. */
const drawEvery = 150;

/** The card with the changes of one key. */
export class Changes {
  constructor(bus, key) {
    Object.assign(this, { bus, key, found: [], pointer: null, pointers: [] });
    this.plot = new Plot((number) => Number(number.toPrecision(6)).toLocaleString("en"));
    this.parts = el("select", { "aria-label": "The number to plot", onchange: () => {
      this.pointer = this.parts.value;
      this.draw();
    } });
    this.list = el("ol", { class: "changes-list" });
    this.none = el("p", { class: "empty" }, "None that the broker remembers.");
    this.element = el("section", { class: "card" },
      el("div", { class: "card-head" }, el("h3", {}, "Changes"), this.parts),
      this.plot.element, this.none, this.list);
    this.drawSoon = throttled(drawEvery, () => this.draw());
    this.draw();
  }

  /** Begins on a connection. If it leads to another bus, what was is forgotten. */
  begin() {
    const { greeting } = this.bus.link;
    if (greeting === null || greeting === this.greeting) return;
    if (greeting.epoch !== this.greeting?.epoch) this.found = [];
    this.greeting = greeting;
    this.read();
  }

  close() {
    this.isClosed = true;
    this.reading?.stop();
  }

  /** Takes an event, just heard or an earlier one, with the text of the value that it set; undefined for a delete. */
  take(event, text, isHeard = false) {
    const { revision, by, skipped } = event;
    const when = isHeard && !event.initial ? present() : event.when;
    let place = this.found.length;
    while (place > 0 && this.found[place - 1].revision > revision) place -= 1;
    const same = this.found[place - 1];
    if (same?.revision === revision) {
      if (place === 1) same.skipped ??= skipped;
      return this.drawSoon();
    }
    this.found.splice(place, 0, { revision, by, when, text, skipped: place === 0 || isHeard ? skipped : undefined });
    let characters = 0;
    const first = this.found.findLastIndex((change) => (characters += change.text?.length ?? 0) > charactersMax);
    this.found.splice(0, Math.max(first, this.found.length - pointsMax));
    this.drawSoon();
  }

  /** Reads earlier changes: further back until there are enough, or the broker knows no more. */
  async read() {
    try {
      const { revision } = await this.bus.link.ask({ op: "sync" });
      for (const span of spans) {
        const since = Math.max(0, revision - span);
        this.reading = eventsSince(this.bus.link, this.key, since);
        const found = await this.reading.end;
        if (this.isClosed || found === null) return this.drawSoon();
        for (const event of found) {
          this.take(event, event.event === "update" ? member(event.text, "value") : undefined);
        }
        if (found.length >= changesMax || since === 0) return;
      }
    } catch {
      // Without a connection there is nothing to read.
    }
  }

  draw() {
    if (this.isClosed) return;
    const rows = this.found.slice(-changesMax).reverse().map((change, at) =>
      this.row(change, this.found[this.found.length - at - 2]));
    this.none.hidden = rows.length > 0;
    put(this.list, ...rows);
    this.drawPlot();
  }

  row(change, before) {
    return el("li", { data: { revision: change.revision } },
      el("div", { class: "step-foot" }, clientName(change.by), el("span", {}, `revision ${change.revision}`),
        el("time", { title: change.when }, timeOfDay(change.when)),
        change.skipped ? el("span", {}, `and ${change.skipped} before it`) : null),
      difference(before?.text, change.text));
  }

  /** Plots the chosen one of the numbers that are in the newest value. */
  drawPlot() {
    const newest = numbers(this.found.findLast((change) => change.text !== undefined));
    const pointers = [...newest.keys()].slice(0, 50);
    if (pointers.join("\n") !== this.pointers.join("\n")) {
      this.pointers = pointers;
      put(this.parts, ...pointers.map((pointer) =>
        el("option", { value: pointer }, pointer === "" ? "the value" : shown(pointer))));
      if (!pointers.includes(this.pointer)) this.pointer = pointers[0] ?? null;
      this.parts.value = this.pointer ?? "";
    }
    this.parts.hidden = this.plot.element.hidden = pointers.length === 0;
    this.plot.show(this.found.map((change) => [Date.parse(change.when), numbers(change).get(this.pointer)])
      .filter((point) => Number.isFinite(point[1])));
  }
}

/** The numbers in the value that a change set, by their pointers. */
function numbers(change) {
  if (change?.text === undefined) return new Map();
  change.numbers ??= new Map([...leaves(change.text, 300)].filter((entry) => kind(entry[1]) === "number")
    .map(([pointer, text]) => [pointer, Number(text)]));
  return change.numbers;
}

/** How a value differs from the one before, either of which may be missing. */
function difference(before, text) {
  if (text === undefined) return el("div", { class: "diff" }, el("del", {}, "deleted"));
  if (before === undefined) return el("div", { class: "diff" }, el("ins", {}, shown(text.slice(0, 400))));
  const found = differences(before, text);
  const rows = found.slice(0, differencesMax).map((part) =>
    el("div", {},
      part.pointer === "" ? null : el("span", { class: "pointer" }, shown(part.pointer)),
      part.old === undefined ? null : el("del", {}, shown(part.old.slice(0, 200))),
      part.now === undefined ? null : el("ins", {}, shown(part.now.slice(0, 200)))));
  if (found.length === 0) rows.push(el("span", { class: "same" }, "written again, the same"));
  if (found.length > differencesMax) rows.push(el("span", {}, `and ${found.length - differencesMax} more`));
  return el("div", { class: "diff" }, ...rows);
}
