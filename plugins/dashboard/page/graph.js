// The view of who writes what and who observes it: writers on the left, keys in the middle, observers on
// the right. A client that does both stands on both sides, in its one colour. Callers stand with the writers, and
// servers with the observers. Keys of a prefix with many keys are one node. Observers are asked for by `who`, for
// one key of each node.

import { el, put, amount, bytes, card, emptyText, isHealth, keyCount, microseconds, panelHead, shown, stateMark,
  throttled } from "./dom.js";
import { drawGraph } from "./flow.js";
import { WriteRates } from "./rates.js";
import { matches } from "./tree.js";

/** A prefix with more keys than this becomes one node. */
const singleKeysMax = 3;
/** The same for keys without values, which are only emitted. */
const emittedKeysMax = 6;
const nodesMax = 26;
const clientsMax = 300;
/** So many calls of each second are seen, and so many callers of a key are kept. */
const tracesMax = 120;
const callersMax = 500;
const askEvery = 2500;
/** The same on a bus with more than 10,000 keys, where listing takes the broker longer. */
const askLargeEvery = 12000;
const logLines = 14;

const hearsAll = (observer) => observer.pattern === "**";

export class GraphView {
  constructor(bus, frame) {
    Object.assign(this, { bus, frame, selected: null, hidesLoose: true });
    this.clients = new Map();
    this.plugins = new Map();
    this.keys = new Map();
    this.facts = new Map();
    this.services = [];
    this.calls = new Map();
    this.build();
    this.drawSoon = throttled(400, () => this.draw());
    this.rates = new WriteRates(bus.link, (event) => this.noteWriter(event), this.drawSoon);
    this.watches = [
      bus.link.gather({ key: "$broker.plugins.*" }, this.plugins, this.drawSoon),
      bus.link.watch({ key: "$broker.services" }, (event) => {
        if (event?.event !== "update") return;
        this.services = event.value.services;
        this.drawSoon();
      }),
      bus.link.watch({ op: "trace", key: "**", only: "calls", limit: tracesMax, every: 1000 },
        (event) => this.noteCall(event)),
    ];
    if ((bus.history.at(-1)?.stats.clients ?? 0) <= clientsMax) {
      this.watches.push(bus.link.gather({ key: "$broker.clients.*" }, this.clients, this.drawSoon));
    }
    this.forget = bus.link.onState(() => this.ask());
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.canvas);
  }

  open() {}

  close() {
    this.isClosed = true;
    this.forget();
    for (const watch of this.watches) watch.stop();
    this.rates.close();
    clearTimeout(this.timer);
    this.resized.disconnect();
  }

  build() {
    const loose = el("input", { type: "checkbox", checked: true, onchange: () => {
      this.hidesLoose = loose.checked;
      this.draw();
    } });
    this.note = el("span", { class: "total" });
    this.empty = el("div", { class: "waiting" },
      ...emptyText("Nobody writes or observes yet. Try it: ", "plugboard publish hello '\"world\"'"),
      ...emptyText("or ", "plugboard subscribe hello"));
    this.canvas = el("div", { class: "graph" });
    this.side = el("aside", { class: "side", "aria-label": "The client" });
    this.frame.append(
      el("section", { class: "main" },
        el("div", { class: "tools" },
          el("label", { class: "check" }, loose, "Hide what has no edges"),
          el("span", { class: "legend" }, el("i", { class: "key-line" }), "width: writes a second",
            el("i", { data: { state: "lagging" } }), "slow", el("i", { data: { state: "paused" } }), "paused",
            el("i", { data: { state: "broken" } }), "broken", el("i", { class: "call-line" }), "calls"),
          this.note),
        this.empty, this.canvas),
      this.side);
  }

  noteWriter(event) {
    if (event.event === "emit" && !this.keys.has(event.key)) this.keys.set(event.key, { isEmitted: true });
    const entry = this.keys.get(event.key) ?? {};
    entry.writers ??= new Set();
    entry.writers.add(event.by);
    this.keys.set(event.key, entry);
  }

  noteCall(event) {
    const own = this.clients.get(`$broker.clients.${this.bus.link.greeting?.client}`)?.name;
    if (event?.op !== "call" || event.outcome !== "asked" || event.by === own) return;
    if (this.calls.size < callersMax) this.calls.set(`${event.by}\n${event.key}`, event);
    this.drawSoon();
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
      this.rates.hear(page.more ? Infinity : page.keys.length);
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
          writers.set(by, (writers.get(by) ?? 0) + this.rates.of(by, key));
        }
      }
      if (fact?.writer && !writers.has(fact.writer.name)) writers.set(fact.writer.name, 0);
      const total = [...writers.values()].reduce((sum, rate) => sum + rate, 0);
      const observers = (fact?.observers ?? []).filter((observer) => observer.client !== own);
      const isAlone = isHealth(name) ? observers.every(hearsAll) : writers.size + observers.length === 0;
      if (this.hidesLoose && isAlone) continue;
      model.keys.set(name, { name, count: node.keys.length, rate: total, sample: node.sample });
      for (const [by, rate] of writers) {
        writer(by);
        model.edges.push({ from: by, to: name, kind: "writes", rate, state: this.stateOf(by), colour: by });
      }
      for (const observer of observers) this.observe(model, name, observer, total);
    }
    this.addCalls(model, writer);
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
    model.edges.push({
      from: name, to: observer.name, kind: "observes", rate, state: observer.state, hearsAll: hearsAll(observer),
      colour: observer.name, owed: observer.owed,
    });
  }

  /** From each caller to what it calls, and from there to its server. Many services of a prefix are one node. */
  addCalls(model, writer) {
    const prefix = ({ key, name }) => `${name} ${key.split(".")[0]}`;
    const counts = new Map();
    for (const service of this.services) counts.set(prefix(service), (counts.get(prefix(service)) ?? 0) + 1);
    const edges = new Map();
    const add = (from, to, kind, client) => edges.set(`${from}\n${to}\n${kind}`,
      { from, to, kind, rate: 0, state: this.stateOf(client), colour: client });
    for (const service of this.services) {
      const calls = [...this.calls.values()].filter(({ key }) => matches(service.key, key));
      if (this.hidesLoose && calls.length === 0) continue;
      const name = counts.get(prefix(service)) > singleKeysMax ? `${service.key.split(".")[0]}.**` : service.key;
      if (!model.keys.has(name)) model.keys.set(name, { name, count: 1, rate: 0, sample: service.key });
      if (!model.observers.has(service.name)) {
        model.observers.set(service.name, { name: service.name, state: this.stateOf(service.name) });
      }
      add(name, service.name, "serves", service.name);
      for (const { by } of calls) {
        writer(by);
        add(by, name, "calls", by);
      }
    }
    model.edges.push(...edges.values());
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
    const model = this.model();
    this.empty.hidden = model.writers.size + model.keys.size + model.observers.size > 0;
    drawGraph(this.canvas, model, {
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
    const head = panelHead(el("h2", { class: "key-title" }, shown(name)), () => this.choose(kind, { name }));
    if (kind === "key") {
      const [prefix] = name.split(".**");
      const served = this.services.filter(({ key }) => key === name || key.startsWith(`${prefix}.`) && prefix !== name);
      put(this.side, head,
        this.keys.has(sample) ? el("p", {}, el("a", { href: `#/keys/${encodeURIComponent(sample)}` },
          `Open ${shown(sample)}`)) : null,
        ...served.map((service) => card(`Calls of ${shown(service.key)}`,
          facts([["Server", shown(service.name)], ["Asked", amount(service.asked)],
            ["Answered", amount(service.answered)], ["Failed", amount(service.failed)],
            ["Answer after", `${microseconds(service.mean)}, at most ${microseconds(service.max)}`]]))));
      return;
    }
    const clients = [...this.clients.values()].filter((client) => client.name === name);
    const plugin = [...this.plugins.values()].find((candidate) => candidate.name === name);
    put(this.side, head,
      plugin ? card("Plugin",
        facts([["State", stateMark(plugin.state)], ["Restarts", amount(plugin.restarts ?? 0)],
          ["Process", plugin.pid ?? "–"], ["Last end", shown(plugin.end ?? "–")],
          plugin.problem ? ["Problem", shown(plugin.problem)] : null])) : null,
      ...clients.map((client) => card(`Client ${client.client}`,
        facts([["State", stateMark(client.state)], ["Lines sent", amount(client.lines)],
          ["Got", bytes(client.sent)], ["Subscriptions", amount(client.subscriptions)],
          ["Waiting", bytes(client.queued)], ["Owed", keyCount(client.owed)]]))),
      plugin ? card("Last lines",
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
