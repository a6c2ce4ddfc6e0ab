// The view of the broker's health: first what is wrong, then its own statistics over time, the busiest keys and
// clients, and the plugins. The broker writes all of it once a second.

import { el, put, amount, bytes, card, clientName, emptyText, keyCount, microseconds, now, shown, stateMark, throttled,
  timeOfDay } from "./dom.js";
import { Plot } from "./chart.js";
import { WriteRates } from "./rates.js";

const figures = [
  { title: "Writes a second", of: (stats) => stats.rates.writes, format: amount },
  { title: "Events a second", of: (stats) => stats.rates.events, format: amount },
  { title: "Longest wait for the broker", of: (stats) => stats.latency?.max, format: microseconds,
    note: (stats) => `on average ${microseconds(stats.latency?.mean)}` },
  { title: "Memory", of: (stats) => stats.memory, format: bytes },
  { title: "Received a second", of: (stats) => stats.rates.received, format: bytes },
  { title: "Sent a second", of: (stats) => stats.rates.sent, format: bytes },
  { title: "Keys", of: (stats) => stats.keys, format: amount },
  { title: "Clients", of: (stats) => stats.clients, format: amount },
];

/** How a program says that it is, at `NAME.health`. */
const healthStates = ["well", "degraded", "down"];
/** What a program tells there has at most so many bytes, and so many numbers. */
const [messageBytesMax, countsMax] = [1_024, 32];
/** What is wrong, the worst first. */
const worst = ["down", "broken", "degraded", "waiting", "lagging", "paused"];
/** With more clients, only those are heard of that don't keep up. */
const clientsMax = 300;
const busiestMax = 8;
/** Rates are means over about five seconds. */
const faded = (rate, since) => rate * 0.8 ** ((now() - since) / 1000);

export class HealthView {
  constructor(bus, frame) {
    Object.assign(this, { bus, frame, clients: new Map(), plugins: new Map(), told: new Map(), warnings: [] });
    this.build();
    this.showSoon = throttled(300, () => this.show());
    this.rates = new WriteRates(bus.link, () => {}, this.showSoon);
    this.listener = (measured) => this.measured(measured);
    bus.listeners.add(this.listener);
    for (const measured of bus.history) this.measured(measured);
    this.isLarge = bus.history.at(-1)?.stats.clients > clientsMax;
    const where = this.isLarge ? { "/state": { "!=": "live" } } : undefined;
    this.watches = [
      bus.link.gather({ key: "$broker.clients.*", where }, this.clients, this.showSoon, withRates),
      bus.link.gather({ key: "$broker.plugins.*" }, this.plugins, this.showSoon),
      bus.link.gather({ key: "*.health", where: { "/state": { in: healthStates } } }, this.told, this.showSoon,
        reportOf),
      bus.link.watch({ key: "$broker.warnings" }, (event) => {
        if (event?.event === "update") this.warnings = event.value;
        this.showSoon();
      }),
    ];
  }

  open() {}

  close() {
    this.bus.listeners.delete(this.listener);
    this.rates.close();
    for (const watch of this.watches) watch.stop();
  }

  build() {
    this.cards = figures.map((figure) => {
      const plot = new Plot(figure.format, { least: 0 });
      const [number, note] = [el("strong", { class: "figure" }, "–"), el("p", { class: "note" })];
      return { figure, plot, number, note,
        element: card(figure.title, number, note, plot.element) };
    });
    this.summary = el("p", { class: "summary" });
    const box = (title, name) => card(title, (this[name] = el("div", { class: name })));
    this.frame.append(
      el("div", { class: "health" }, this.summary, box("Problems", "problems"),
        el("div", { class: "figures" }, ...this.cards.map((entry) => entry.element)),
        el("div", { class: "pair" }, box("Busiest keys", "busyKeys"), box("Busiest clients", "busyClients")),
        box("Plugins", "pluginList")),
    );
  }

  measured({ at, stats }) {
    for (const { figure, plot, number, note } of this.cards) {
      const measured = figure.of(stats);
      number.textContent = measured === undefined ? "–" : figure.format(measured);
      note.textContent = figure.note?.(stats) ?? "";
      plot.add(measured, at);
    }
    this.rates.hear(stats.keys);
    const minutes = Math.floor(stats.uptime / 60);
    const since = minutes < 1 ? `${Math.round(stats.uptime)} s` : minutes < 120 ? `${minutes} min`
      : `${Math.floor(minutes / 60)} h`;
    const { version } = this.bus.link.greeting ?? {};
    this.summary.textContent =
      `Broker ${shown(version ?? "")}, process ${stats.pid}, up for ${since}, revision ${amount(stats.revision)}, `
      + `${amount(stats.subscriptions)} subscriptions.`;
  }

  show() {
    this.showProblems();
    this.showBusiest();
    this.showPlugins();
  }

  /** What is wrong, each as its state, who it concerns, since when, and what it is. */
  found() {
    const clients = [...this.clients.values()].filter(({ state }) => state !== "live")
      .map(({ state, name, queued, owed }) => ({ state, name,
        what: (state === "paused" ? "held by a pause: " : "reads too slowly: ")
          + `${bytes(queued)} and ${keyCount(owed)} wait for it` }));
    const plugins = [...this.plugins.values()].filter(({ state, problem }) => worst.includes(state) || problem)
      .map(({ state, name, since, problem, end }) => ({ state, name, since, what: problem ?? end ?? "" }));
    const told = [...this.told].filter(([, { state }]) => state !== "well")
      .map(([key, health]) => ({ state: health.state, name: spelledName(key), since: health.since,
        what: toldText(health) }));
    const place = ({ state }) => (worst.includes(state) ? worst.indexOf(state) : worst.length);
    return [...told, ...plugins, ...clients].sort((a, b) => place(a) - place(b));
  }

  showProblems() {
    const rows = this.found().map(({ state, name, since, what }) => el("tr", { data: { state } },
      el("td", {}, clientName(name)), el("td", {}, stateMark(state)),
      el("td", {}, since ? timeOfDay(since) : ""), el("td", {}, shown(what))));
    rows.push(...this.warnings.toReversed().map((warning) => el("tr", { data: { state: "warning" } },
      el("td", {}, "the broker"), el("td", {}, stateMark(warning.kind)), el("td", {}, timeOfDay(warning.when)),
      el("td", {}, shown(warning.message) + (warning.times > 1 ? `, ${amount(warning.times)} times` : "")))));
    put(this.problems, rows.length > 0 ? table(["Who", "State", "Since", "What"], rows)
      : el("p", { class: "empty good" }, "None: every observer keeps up, and no plugin tells of any."));
  }

  showBusiest() {
    const keys = this.rates.busiest(1, busiestMax).map(([key, rate]) => el("tr", {},
      el("td", {}, el("a", { href: `#/keys/${encodeURIComponent(key)}` }, shown(key))),
      el("td", { class: "number" }, amount(rate))));
    const empty = (...texts) => el("div", { class: "empty" }, ...emptyText(...texts));
    put(this.busyKeys, keys.length > 0 ? table(["Key", "Writes a second"], keys)
      : empty("Nothing is written just now. Try it: ", "plugboard publish hello '\"world\"'"));
    const own = this.bus.link.greeting?.client;
    const clients = [...this.clients.values()].filter(({ client }) => client !== own)
      .map(({ name, at, rates }) => [name, faded(rates.lines, at), faded(rates.sent, at)])
      .filter(([, lines, sent]) => lines >= 0.1 || sent >= 1)
      .sort((a, b) => b[1] - a[1] || b[2] - a[2]).slice(0, busiestMax)
      .map(([name, lines, sent]) => el("tr", {}, el("td", {}, clientName(name)),
        el("td", { class: "number" }, amount(lines)), el("td", { class: "number" }, bytes(sent))));
    put(this.busyClients, this.isLarge ? empty("There are too many to hear of each. Try it: ", "plugboard top")
      : clients.length > 0 ? table(["Client", "Lines sent a second", "Got a second"], clients)
        : empty("No client sends or gets anything just now. Try it: ", "plugboard subscribe '**'"));
  }

  /** Each plugin, and each program that tells how it is. */
  showPlugins() {
    const told = new Map([...this.told].map(([key, health]) => [spelledName(key), health]));
    const plugins = new Map([...this.plugins.values()].map((plugin) => [plugin.name, plugin]));
    const rows = [...new Set([...plugins.keys(), ...told.keys()])].map((name) => {
      const [plugin, health] = [plugins.get(name), told.get(name)];
      return el("tr", { data: { state: health?.state ?? plugin?.state } },
        el("td", {}, clientName(name)), el("td", {}, plugin ? stateMark(plugin.state ?? "?") : ""),
        el("td", {}, health ? stateMark(health.state) : ""),
        el("td", { class: "number" }, plugin ? amount(plugin.restarts ?? 0) : ""),
        el("td", {}, timeOfDay(plugin?.since ?? health?.since ?? "")),
        el("td", {}, shown([plugin?.problem ?? plugin?.end, health && toldText(health)].filter(Boolean).join("; "))));
    });
    put(this.pluginList, rows.length === 0 ? null
      : table(["Plugin", "State", "Tells", "Restarts", "Since", "What"], rows),
    plugins.size > 0 ? null : el("div", { class: "empty" },
      ...emptyText("No supervisor runs plugins here. Try it: ", "plugboard up --plugins DIR")));
  }
}

/** A client's value with its rates. */
function withRates(value, before) {
  const rate = (name) => (before ? faded(before.rates[name], before.at) + 0.2 * (value[name] - before[name]) : 0);
  return { ...value, at: now(), rates: { lines: rate("lines"), sent: rate("sent") } };
}

/** A report without what hasn't its form. */
function reportOf({ state, since, message, counts }) {
  const isShort = typeof message === "string" && new TextEncoder().encode(message).length <= messageBytesMax;
  const isObject = typeof counts === "object" && counts !== null && !Array.isArray(counts);
  return { state, since: typeof since === "string" ? since : undefined, message: isShort ? message : undefined,
    counts: Object.entries(isObject ? counts : {}).filter(([, count]) => Number.isInteger(count) && count >= 0)
      .slice(0, countsMax) };
}

/** What a program tells besides its state. */
function toldText({ message, counts }) {
  const texts = counts.map(([name, count]) => `${name} ${count}`);
  return [message, ...texts].filter(Boolean).join(", ");
}

/** The name that the key of a health spells. */
function spelledName(key) {
  const token = key.slice(0, -".health".length);
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}

function table(titles, rows) {
  return el("table", {}, el("thead", {}, el("tr", {}, ...titles.map((title) => el("th", {}, title)))),
    el("tbody", {}, ...rows));
}
