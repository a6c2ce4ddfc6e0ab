// Made by .ci/page from plugins/dashboard/page/key.js: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let keyJS: StaticString = ##"""
// A key's own page: its value, its last changes as differences, a plot of a number in it, who observes it,
// and why it is what it is.

import { el, put, clientName, shown, stateMark, throttled, timeOfDay } from "./dom.js";
import { differences, elements, kind, leaves, member, members } from "./json.js";
import { Plot } from "./chart.js";
import { KeyWatch } from "./pace.js";

const changesMax = 40;
const differencesMax = 8;
const linesMax = 1500;
/** A large value takes a moment to show. */
const renderEvery = 150;

/** A value as lines with colours. Its scalars keep their spelling. */
export function pretty(text) {
  const box = el("pre", { class: "value" });
  let lines = 0;
  const add = (...parts) => box.append(...parts);
  const scalar = (part) => el("span", { class: `json-${kind(part)}` }, shown(part));
  const visit = (part, indent) => {
    const type = kind(part);
    const isObject = type === "object";
    const parts = isObject ? members(part) : type === "array" ? elements(part).map((e) => [null, e]) : null;
    if (parts === null) return add(scalar(part));
    if (parts.length === 0) return add(isObject ? "{}" : "[]");
    add(isObject ? "{" : "[");
    for (const [at, [name, inner]] of parts.entries()) {
      if ((lines += 1) > linesMax) {
        add(`\n${indent}  … ${parts.length - at} more`);
        break;
      }
      add(`\n${indent}  `);
      if (name !== null) add(el("span", { class: "json-name" }, shown(JSON.stringify(name))), ": ");
      visit(inner, `${indent}  `);
      if (at < parts.length - 1) add(",");
    }
    add(`\n${indent}${isObject ? "}" : "]"}`);
  };
  visit(text, "");
  return box;
}

/** A chain of causes, the newest first, with the time between two steps. */
export function chain(steps, isTruncated) {
  const list = el("ol", { class: "chain" });
  for (const [at, step] of steps.entries()) {
    const cause = steps[at + 1];
    const took = cause?.when && step.when ? Date.parse(step.when) - Date.parse(cause.when) : null;
    list.append(
      el(
        "li",
        { data: { key: step.key, revision: step.revision } },
        el("div", { class: "step-head" },
          el("a", { class: "step-key", href: `#/keys/${encodeURIComponent(step.key)}` }, shown(step.key)),
          el("span", { class: "op", data: { op: step.op ?? "publish" } }, step.op ?? "write")),
        el("div", { class: "step-foot" },
          clientName(step.by),
          el("span", {}, `revision ${step.revision}`),
          step.reason ? el("span", {}, shown(step.reason)) : null,
          step.when ? el("span", {}, timeOfDay(step.when)) : null,
          took === null ? null : el("span", { class: "took" }, `${took} ms after its cause`)),
      ),
    );
  }
  if (isTruncated) list.append(el("li", { class: "step-more" }, "what came before is forgotten"));
  return list;
}

export class KeyPanel {
  constructor(bus, side, leave) {
    Object.assign(this, { bus, side, leave, key: null });
    this.forget = bus.link.onState(() => this.observers());
    this.render = throttled(renderEvery, () => this.showValue());
  }

  close() {
    this.forget();
    this.show(null);
    this.isClosed = true;
  }

  show(key) {
    if (key === this.key) return;
    this.key = key;
    this.watch?.stop();
    this.watch = null;
    clearInterval(this.timer);
    put(this.side);
    if (key === null || this.isClosed) return;
    Object.assign(this, { text: undefined, changes: 0, pointer: null, numbers: [] });
    this.build();
    this.watch = new KeyWatch(this.bus.link, [key], (event) => this.changed(event));
    this.timer = setInterval(() => this.observers(), 2000);
    this.observers();
  }

  build() {
    this.meta = el("div", { class: "meta" });
    this.value = el("div", { class: "value-box" }, el("p", { class: "empty" }, "no value"));
    this.plot = new Plot((number) => Number(number.toPrecision(6)).toLocaleString("en"));
    this.parts = el("select", { "aria-label": "The number to plot", onchange: () => this.choosePart() });
    this.plotBox = el("section", { class: "card", hidden: true },
      el("div", { class: "card-head" }, el("h3", {}, "Over time"), this.parts), this.plot.element);
    this.changeList = el("ol", { class: "changes-list" });
    this.changeBox = el("section", { class: "card" }, el("h3", {}, "Changes"),
      this.noChange = el("p", { class: "empty" }, "None since this page was opened."), this.changeList);
    this.whyBox = el("section", { class: "card", hidden: true });
    this.observerList = el("div", { class: "observers" });
    const title = el("h2", { class: "key-title" }, shown(this.key));
    put(
      this.side,
      el("div", { class: "side-head" }, title,
        this.bus.link.writes
          ? el("button", { onclick: () => this.bus.writeForm.open(this.key, this.text) }, "Edit") : null,
        el("button", { class: "why-button", onclick: () => this.why() }, "Why?"),
        el("button", { class: "close", "aria-label": "Close", onclick: this.leave }, "×")),
      this.meta, this.whyBox,
      el("section", { class: "card" }, el("h3", {}, "Value"), this.value),
      this.plotBox, this.changeBox,
      el("section", { class: "card" }, el("h3", {}, "Observers"), this.observerList),
    );
  }

  changed(event) {
    if (event?.event === "update") {
      const text = member(event.text, "value");
      if (!event.initial) this.note(event, text);
      this.text = text;
      this.tell(event);
      this.render();
    } else if (event?.event === "delete") {
      this.note(event, undefined);
      this.text = undefined;
      put(this.value, el("p", { class: "empty" }, "deleted"));
      this.tell(event);
    }
  }

  showValue() {
    if (this.text === undefined) return;
    put(this.value, pretty(this.text));
    this.plotParts(this.text);
  }

  tell(event) {
    put(
      this.meta,
      clientName(event.by),
      el("span", {}, `revision ${event.revision}`),
      event.cause ? el("span", {}, `because of ${event.cause}`) : null,
      event.live === false ? el("span", { class: "is-gone" }, "its connection has ended") : null,
      this.changes ? el("span", {}, `${this.changes} changes seen`) : null,
    );
  }

  note(event, text) {
    this.changes += 1 + (event.skipped ?? 0);
    this.noChange.hidden = true;
    this.changeList.prepend(
      el("li", {},
        el("div", { class: "step-foot" }, clientName(event.by), el("span", {}, `revision ${event.revision}`),
          el("span", {}, new Date().toLocaleTimeString("en", { hour12: false })),
          event.skipped ? el("span", {}, `${event.skipped} skipped`) : null),
        this.difference(text)),
    );
    while (this.changeList.children.length > changesMax) this.changeList.lastChild.remove();
  }

  difference(text) {
    if (text === undefined) return el("div", { class: "diff" }, el("del", {}, "deleted"));
    if (this.text === undefined) return el("div", { class: "diff" }, el("ins", {}, shown(text.slice(0, 400))));
    const found = differences(this.text, text);
    const rows = found.slice(0, differencesMax).map((part) =>
      el("div", {},
        part.pointer === "" ? null : el("span", { class: "pointer" }, shown(part.pointer)),
        part.old === undefined ? null : el("del", {}, shown(part.old.slice(0, 200))),
        part.now === undefined ? null : el("ins", {}, shown(part.now.slice(0, 200)))));
    if (found.length === 0) rows.push(el("span", { class: "same" }, "written again, the same"));
    if (found.length > differencesMax) rows.push(el("span", {}, `and ${found.length - differencesMax} more`));
    return el("div", { class: "diff" }, ...rows);
  }

  /** Offers the numbers in the value, and adds the chosen one to the plot. */
  plotParts(text) {
    const numbers = [...leaves(text, 300)].filter((entry) => kind(entry[1]) === "number");
    const pointers = numbers.map((entry) => entry[0]).slice(0, 50);
    if (pointers.join("\n") !== this.numbers.join("\n")) {
      this.numbers = pointers;
      put(this.parts, ...pointers.map((pointer) =>
        el("option", { value: pointer }, pointer === "" ? "the value" : shown(pointer))));
      if (!pointers.includes(this.pointer)) {
        this.pointer = pointers[0] ?? null;
        this.plot.clear();
      }
      this.parts.value = this.pointer ?? "";
    }
    this.plotBox.hidden = pointers.length === 0;
    const present = numbers.find((entry) => entry[0] === this.pointer);
    if (present) this.plot.add(Number(present[1]));
  }

  choosePart() {
    this.pointer = this.parts.value;
    this.plot.clear();
    if (this.text !== undefined) this.plotParts(this.text);
  }

  async why() {
    const key = this.key;
    this.whyBox.hidden = false;
    try {
      const reply = await this.bus.link.ask({ op: "why", key });
      if (key !== this.key) return;
      put(this.whyBox, el("h3", {}, "Why"), chain(reply.chain, reply.truncated || reply.more));
    } catch (error) {
      put(this.whyBox, el("h3", {}, "Why"), el("p", { class: "empty" }, shown(error.message)));
    }
  }

  async observers() {
    const key = this.key;
    if (key === null || document.hidden || this.bus.link.state !== "live") return;
    try {
      const reply = await this.bus.link.ask({ op: "who", key });
      if (key === this.key) this.showObservers(reply);
    } catch {
      // Asked again in a moment.
    }
  }

  showObservers(reply) {
    const own = this.bus.link.greeting?.client;
    const others = reply.observers.filter((observer) => observer.client !== own);
    const rows = others.map((observer) => this.observer(observer));
    if (reply.server) {
      rows.unshift(el("div", { class: "observer" }, clientName(reply.server.name),
        el("span", { class: "pattern" }, `answers calls of ${shown(reply.server.pattern)}`)));
    }
    if (rows.length === 0) rows.push(el("p", { class: "empty" }, "Nobody but this page."));
    put(this.observerList, ...rows);
  }

  observer(observer) {
    const owed = observer.owed > 0 ? `owed ${observer.owed}` : null;
    const { client, sub } = observer;
    const control = (op, title) => el("button", { onclick: () => this.control({ op, client, sub }) }, title);
    const buttons = !this.bus.link.writes ? []
      : observer.state === "paused" ? [control("step", "Step"), control("resume", "Resume")]
        : [control("pause", "Pause")];
    return el("div", { class: "observer", data: { client, state: observer.state } },
      clientName(observer.name), stateMark(observer.state),
      el("span", { class: "pattern" }, shown(observer.pattern)),
      owed ? el("span", { class: "owed" }, owed) : null, ...buttons);
  }

  async control(request) {
    try {
      await this.bus.link.ask(request);
    } catch (error) {
      this.observerList.prepend(this.bus.writeForm.complaint(error, request));
      return;
    }
    this.observers();
  }
}

"""##
}
