// A key's own page: its value, its last changes, why it is what it is, and who observes it.

import { el, put, card, clientName, now, panelHead, shown, span, stateMark, throttled, timeOfDay } from "./dom.js";
import { elements, kind, member, members } from "./json.js";
import { Changes } from "./changes.js";
import { KeyWatch } from "./pace.js";

const linesMax = 1500;
const askEvery = 1000;
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
    this.forget = bus.link.onState(() => this.ask());
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
    this.changes?.close();
    this.watch = this.changes = null;
    clearInterval(this.timer);
    put(this.side);
    if (key === null || this.isClosed) return;
    Object.assign(this, { text: undefined, event: null, explained: null, isGone: false });
    this.build();
    this.watch = new KeyWatch(this.bus.link, [key], (event) => this.changed(event));
    this.timer = setInterval(() => this.ask(), askEvery);
    this.ask();
  }

  build() {
    this.meta = el("div", { class: "meta" });
    this.value = el("div", { class: "value-box" }, el("p", { class: "empty" }, "no value"));
    this.changes = new Changes(this.bus, this.key);
    this.whyBox = el("div", { class: "why" });
    this.observerList = el("div", { class: "observers" });
    put(
      this.side,
      panelHead(el("h2", { class: "key-title" }, shown(this.key)), this.leave, this.bus.link.writes
        ? el("button", { onclick: () => this.bus.writeForm.open(this.key, this.text) }, "Edit") : null),
      this.meta, card("Value", this.value), this.changes.element, card("Why", this.whyBox),
      card("Observers", this.observerList),
    );
  }

  changed(event) {
    if (event === null) this.changes.begin();
    if (event?.event !== "update" && event?.event !== "delete") return;
    this.text = event.event === "update" ? member(event.text, "value") : undefined;
    this.changes.take(event, this.text, true);
    const { live, grace, ttl } = event;
    Object.assign(this, { event, isGone: live === false, grace, endsAt: ttl && now() + ttl });
    this.tell();
    if (this.text === undefined) put(this.value, el("p", { class: "empty" }, "deleted"));
    else this.render();
    if (event.initial) this.ask();
  }

  showValue() {
    if (this.text !== undefined) put(this.value, pretty(this.text));
  }

  /** Says who wrote the value, and when it ends by itself. */
  tell() {
    const { event } = this;
    if (!event) return;
    put(
      this.meta,
      clientName(event.by, this.isGone),
      el("span", {}, `revision ${event.revision}`),
      event.when ? el("span", { class: "when" }, `written ${event.when.replace("T", " ")}`) : null,
      event.cause ? el("span", {}, `because of ${event.cause}`) : null,
      this.isGone ? el("span", {}, "its connection has ended"
        + (this.grace ? `; it is waited for, ${span(this.grace)} more` : "")) : null,
      event.while === "connected" ? el("span", { class: "while" }, "ends with its connection") : null,
      this.endsAt ? el("span", { class: "ttl" }, `ends in ${span(this.endsAt - now())}`) : null,
    );
  }

  /** Asks who observes the key, and why it is what it is. */
  ask() {
    this.tell();
    if (this.key === null || document.hidden || this.bus.link.state !== "live") return;
    this.observers();
    if (this.event && this.explained !== this.event.revision) this.why();
  }

  async why() {
    const { key } = this;
    this.explained = this.event.revision;
    try {
      const reply = await this.bus.link.ask({ op: "why", key });
      if (key !== this.key) return;
      put(this.whyBox, chain(reply.chain, reply.truncated || reply.more));
    } catch (error) {
      if (key === this.key) put(this.whyBox, el("p", { class: "empty" }, shown(error.message)));
    }
  }

  async observers() {
    const { key } = this;
    try {
      const reply = await this.bus.link.ask({ op: "who", key });
      if (key !== this.key) return;
      this.showObservers(reply);
      if (reply.writer?.revision !== this.event?.revision) return;
      Object.assign(this, { isGone: reply.writer?.live === false, grace: reply.writer?.grace });
      this.tell();
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

