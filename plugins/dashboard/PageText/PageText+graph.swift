// Made by .ci/page from plugins/dashboard/page/graph.js: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let graphJS: StaticString = ##"""
// The view of who writes what and who observes it: writers on the left, keys in the middle, observers on
// the right. A client that does both stands on both sides, in its one colour. Keys of a prefix with many
// keys are one node. Observers are asked for by `who`, for one key of each node.

import { el, put, amount, bytes, shown, stateMark, throttled } from "./dom.js";
import { drawGraph } from "./flow.js";
import { PacedWatch } from "./pace.js";

/** A prefix with more keys than this becomes one node. */
const singleKeysMax = 3;
/** The same for keys without values, which are only emitted. */
const emittedKeysMax = 6;
const nodesMax = 26;
/** On a bus with more keys, rates aren't measured here: the page would hear too much. */
const heardKeysMax = 2000;
const clientsMax = 300;
/** On a busy bus, rates are counted for a moment, and then not for a while. */
const countMilliseconds = 120;
const countEvery = 10000;
const askEvery = 2500;
/** The same on a bus with more than 10,000 keys, where listing takes the broker longer. */
const askLargeEvery = 12000;
const logLines = 14;

export class GraphView {
  constructor(bus, frame) {
    Object.assign(this, { bus, frame, selected: null, hidesLoose: true });
    this.clients = new Map();
    this.plugins = new Map();
    this.keys = new Map();
    this.facts = new Map();
    this.rates = new Map();
    this.build();
    this.drawSoon = throttled(400, () => this.draw());
    const drawing = (found) => (event) => {
      if (event === null) found.clear();
      else if (event.event === "update") found.set(event.key, event.value);
      else if (event.event === "delete") found.delete(event.key);
      this.drawSoon();
    };
    this.watches = [bus.link.watch({ key: "$broker.plugins.*" }, drawing(this.plugins))];
    if ((bus.history.at(-1)?.stats.clients ?? 0) <= clientsMax) {
      this.watches.push(bus.link.watch({ key: "$broker.clients.*" }, drawing(this.clients)));
    }
    this.forget = bus.link.onState(() => this.ask());
    this.ticker = setInterval(() => this.decay(), 1000);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.canvas);
  }

  open() {}

  close() {
    this.isClosed = true;
    this.forget();
    for (const watch of this.watches) watch.stop();
    this.heard?.stop();
    clearInterval(this.ticker);
    clearTimeout(this.timer);
    this.endCount();
    this.resized.disconnect();
  }

  build() {
    const loose = el("input", { type: "checkbox", checked: true, onchange: () => {
      this.hidesLoose = loose.checked;
      this.draw();
    } });
    this.note = el("span", { class: "total" });
    this.canvas = el("div", { class: "graph" });
    this.side = el("aside", { class: "side", "aria-label": "The client" });
    this.frame.append(
      el("section", { class: "main" },
        el("div", { class: "tools" },
          el("label", { class: "check" }, loose, "Hide what has no edges"),
          el("span", { class: "legend" }, el("i", { class: "key-line" }), "width: writes a second",
            el("i", { data: { state: "lagging" } }), "slow", el("i", { data: { state: "paused" } }), "paused",
            el("i", { data: { state: "broken" } }), "broken"),
          this.note),
        this.canvas),
      this.side);
  }

  /** Hears which keys are written, by whom, and how often. On a large bus it doesn't. */
  hear(count) {
    if (count > heardKeysMax) {
      this.heard?.stop();
      this.heard = null;
    } else if (!this.heard) {
      this.heard = new PacedWatch(this.bus.link, { key: "**", values: false, every: 500 },
        (event) => this.heardOf(event), () => this.count());
    }
  }

  /** Counts for a moment how often each key is written, while there is too much to hear all. */
  count() {
    this.endCount();
    if (this.isClosed || !this.heard?.isResting) return;
    const counts = new Map();
    let [first, last] = [null, null];
    this.counting = this.bus.link.watch({ key: "**", values: false, initial: false, every: 50 }, (event) => {
      if (event === null || event.by === undefined) return;
      last = performance.now();
      first ??= last;
      this.noteWriter(event);
      const edge = `${event.by}\n${event.key}`;
      counts.set(edge, (counts.get(edge) ?? -1) + 1 + (event.skipped ?? 0));
      if (last - first < countMilliseconds) return;
      this.endCount();
      this.rates = new Map([...counts].map(([name, count]) => [name, (count * 1000) / (last - first)]));
      this.drawSoon();
    });
    this.countTimer = setTimeout(() => this.count(), countEvery);
  }

  endCount() {
    this.counting?.stop();
    clearTimeout(this.countTimer);
  }

  heardOf(event) {
    if (event === null || event.by === undefined) return;
    this.noteWriter(event);
    if (event.initial) return;
    const edge = `${event.by}\n${event.key}`;
    this.rates.set(edge, (this.rates.get(edge) ?? 0) + 0.2 * (1 + (event.skipped ?? 0)));
    this.drawSoon();
  }

  noteWriter(event) {
    if (event.event === "emit" && !this.keys.has(event.key)) this.keys.set(event.key, { isEmitted: true });
    const entry = this.keys.get(event.key) ?? {};
    entry.writers ??= new Set();
    entry.writers.add(event.by);
    this.keys.set(event.key, entry);
  }

  /** Each second the rates forget a fifth: they are means over about five seconds. */
  decay() {
    if (this.heard?.isResting) return;
    for (const [edge, rate] of this.rates) {
      if (rate < 0.02) this.rates.delete(edge);
      else this.rates.set(edge, rate * 0.8);
    }
    if (this.rates.size > 0) this.drawSoon();
  }

  /** Lists the keys, and asks who observes one key of each node. */
  async ask() {
    clearTimeout(this.timer);
    if (this.isClosed || this.bus.link.state !== "live") return;
    try {
      const page = await this.bus.link.ask({ op: "keys", limit: 10000 });
      const present = new Set(page.keys.map((entry) => entry.key));
      for (const [key, entry] of this.keys) if (!present.has(key) && !entry.isEmitted) this.keys.delete(key);
      for (const { key, revision } of page.keys) this.keys.set(key, { ...this.keys.get(key), revision });
      this.isLarge = page.more;
      this.addDeclared();
      this.hear(page.more ? Infinity : page.keys.length);
      this.note.textContent = page.more ? "The first 10,000 keys." : "";
      for (const node of this.nodes().values()) {
        if (this.isClosed) return;
        this.facts.set(node.name, await this.bus.link.ask({ op: "who", key: node.sample }));
      }
      this.draw();
    } catch {
      // Asked again below, or with the next connection.
    }
    this.timer = setTimeout(() => this.ask(), this.isLarge ? askLargeEvery : askEvery);
  }

  /** Keys that plugins listen to for emits, which have no value. Their plugin.json names them. */
  addDeclared() {
    for (const plugin of this.plugins.values()) {
      for (const key of plugin.may?.subscribe ?? []) {
        if (!key.includes("*") && !key.startsWith("$") && !this.keys.has(key)) {
          this.keys.set(key, { isEmitted: true });
        }
      }
    }
  }

  /** The nodes of keys: single keys, and prefixes that have many. */
  nodes() {
    const groups = new Map();
    for (const [key, { isEmitted }] of this.keys) {
      const group = `${isEmitted ? "emitted" : "kept"} ${key.split(".")[0]}`;
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push(key);
    }
    const nodes = new Map();
    for (const [group, keys] of groups) {
      const [kind, prefix] = group.split(" ");
      const most = kind === "kept" ? singleKeysMax : emittedKeysMax;
      if (keys.length <= most && nodes.size + keys.length <= nodesMax) {
        for (const key of keys) nodes.set(key, { name: key, keys: [key], sample: key });
      } else if (nodes.size < nodesMax) {
        const newest = keys.reduce((a, b) =>
          (this.keys.get(b).revision ?? 0) > (this.keys.get(a).revision ?? 0) ? b : a);
        nodes.set(`${prefix}.**`, { name: `${prefix}.**`, keys, sample: newest });
      }
    }
    return nodes;
  }

  /** Everything that is drawn: nodes of three kinds, and edges between them. */
  model() {
    const own = this.bus.link.greeting?.client;
    const nodes = this.nodes();
    const model = { writers: new Map(), keys: new Map(), observers: new Map(), edges: [] };
    const writer = (name) => model.writers.set(name, { name, state: this.stateOf(name) });
    for (const [name, node] of nodes) {
      const fact = this.facts.get(name);
      const writers = new Map();
      for (const key of node.keys) {
        for (const by of this.keys.get(key)?.writers ?? []) {
          writers.set(by, (writers.get(by) ?? 0) + (this.rates.get(`${by}\n${key}`) ?? 0));
        }
      }
      if (fact?.writer && !writers.has(fact.writer.name)) writers.set(fact.writer.name, 0);
      const total = [...writers.values()].reduce((sum, rate) => sum + rate, 0);
      const observers = (fact?.observers ?? []).filter((observer) => observer.client !== own);
      if (this.hidesLoose && writers.size + observers.length === 0) continue;
      model.keys.set(name, { name, count: node.keys.length, rate: total, sample: node.sample });
      for (const [by, rate] of writers) {
        writer(by);
        model.edges.push({ from: by, to: name, kind: "writes", rate, state: this.stateOf(by), colour: by });
      }
      for (const observer of observers) this.observe(model, name, observer, total);
    }
    if (!this.hidesLoose) this.addLoose(model, writer, own);
    for (const plugin of this.plugins.values()) {
      if (["broken", "waiting"].includes(plugin.state)) writer(plugin.name);
    }
    return model;
  }

  observe(model, name, observer, rate) {
    const before = model.observers.get(observer.name);
    const state = observer.state === "live" ? before?.state ?? "live" : observer.state;
    model.observers.set(observer.name, { name: observer.name, state, client: observer.client });
    const hearsAll = observer.pattern === "**";
    model.edges.push({
      from: name, to: observer.name, kind: "observes", rate, state: observer.state, hearsAll,
      colour: observer.name, owed: observer.owed,
    });
  }

  addLoose(model, writer, own) {
    for (const client of this.clients.values()) {
      if (client.client === own || model.writers.has(client.name) || model.observers.has(client.name)) continue;
      writer(client.name);
    }
    for (const plugin of this.plugins.values()) {
      if (!model.observers.has(plugin.name)) writer(plugin.name);
    }
  }

  /** A plugin's trouble, or else its connection's. */
  stateOf(name) {
    const plugin = [...this.plugins.values()].find((candidate) => candidate.name === name);
    if (plugin && !["running", "idle"].includes(plugin.state)) return plugin.state;
    const client = [...this.clients.values()].find((candidate) => candidate.name === name);
    return client?.state ?? "live";
  }

  draw() {
    if (this.isClosed) return;
    drawGraph(this.canvas, this.model(), {
      selected: this.selected,
      choose: (kind, node) => this.choose(kind, node),
    });
    if (this.selected) this.describe();
  }

  choose(kind, node) {
    const isSame = this.selected?.kind === kind && this.selected.name === node.name;
    this.selected = isSame ? null : { kind, name: node.name, sample: node.sample };
    this.log = null;
    this.frame.classList.toggle("has-detail", this.selected !== null);
    put(this.side);
    this.draw();
    if (this.selected && kind !== "key") this.readLog();
  }

  describe() {
    const { kind, name, sample } = this.selected;
    const head = el("div", { class: "side-head" }, el("h2", { class: "key-title" }, shown(name)),
      el("button", { class: "close", "aria-label": "Close",
        onclick: () => this.choose(kind, { name }) }, "×"));
    if (kind === "key") {
      put(this.side, head, el("p", {}, el("a", { href: `#/keys/${encodeURIComponent(sample)}` },
        `Open ${shown(sample)}`)));
      return;
    }
    const clients = [...this.clients.values()].filter((client) => client.name === name);
    const plugin = [...this.plugins.values()].find((candidate) => candidate.name === name);
    put(this.side, head,
      plugin ? el("section", { class: "card" }, el("h3", {}, "Plugin"),
        facts([["State", stateMark(plugin.state)], ["Restarts", amount(plugin.restarts ?? 0)],
          ["Process", plugin.pid ?? "–"], ["Last end", shown(plugin.end ?? "–")],
          plugin.problem ? ["Problem", shown(plugin.problem)] : null])) : null,
      ...clients.map((client) => el("section", { class: "card" }, el("h3", {}, `Client ${client.client}`),
        facts([["State", stateMark(client.state)], ["Lines sent", amount(client.lines)],
          ["Got", bytes(client.sent)], ["Subscriptions", amount(client.subscriptions)],
          ["Waiting", bytes(client.queued)], ["Owed", `${amount(client.owed)} keys`]]))),
      plugin ? el("section", { class: "card" }, el("h3", {}, "Last lines"),
        el("pre", { class: "log" }, this.log === null ? "…" : this.log.map(shown).join("\n"))) : null,
      clients.length === 0 && !plugin ? el("p", { class: "empty" }, "It isn't connected.") : null);
  }

  async readLog() {
    const { name } = this.selected;
    try {
      const reply = await this.bus.link.ask({ op: "call", key: "plugins.log", value: name });
      this.log = reply.value.slice(-logLines);
    } catch {
      this.log = [];
    }
    if (this.selected?.name === name) this.describe();
  }
}

function facts(pairs) {
  return el("dl", {}, ...pairs.filter(Boolean).flatMap(([title, value]) =>
    [el("dt", {}, title), el("dd", {}, value)]));
}
"""##
}
