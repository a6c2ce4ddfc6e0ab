// The view of the broker's health: its own statistics over time, observers that lag behind, warnings, and
// the plugins. The broker writes all of it once a second.

import { el, put, amount, bytes, clientName, microseconds, shown, stateMark, timeOfDay } from "./dom.js";
import { Plot } from "./chart.js";

const figures = [
  { title: "Writes a second", of: (stats) => stats.rates.writes, format: amount, least: 0 },
  { title: "Events a second", of: (stats) => stats.rates.events, format: amount, least: 0 },
  { title: "Slowest turn", of: (stats) => stats.latency?.max, format: microseconds, least: 0 },
  { title: "Mean turn", of: (stats) => stats.latency?.mean, format: microseconds, least: 0 },
  { title: "Memory", of: (stats) => stats.memory, format: bytes },
  { title: "Sent a second", of: (stats) => stats.rates.sent, format: bytes, least: 0 },
  { title: "Keys", of: (stats) => stats.keys, format: amount },
  { title: "Clients", of: (stats) => stats.clients, format: amount },
];

/** How a program says that it is, at `NAME.health`. */
const healthStates = ["well", "degraded", "down"];

export class HealthView {
  constructor(bus, frame) {
    Object.assign(this, { bus, frame, slow: new Map(), plugins: new Map(), told: new Map() });
    this.build();
    this.listener = (measured) => this.measured(measured);
    bus.listeners.add(this.listener);
    for (const measured of bus.history) this.measured(measured);
    this.watches = [
      bus.link.watch(
        { key: "$broker.clients.*", where: { "/state": { "!=": "live" } } },
        (event) => this.gather(this.slow, event, () => this.showSlow()),
      ),
      bus.link.watch({ key: "$broker.plugins.*" },
        (event) => this.gather(this.plugins, event, () => this.showPlugins())),
      bus.link.watch({ key: "*.health", where: { "/state": { in: healthStates } } },
        (event) => this.gather(this.told, event, () => this.showTold())),
      bus.link.watch({ key: "$broker.warnings" }, (event) => {
        if (event?.event === "update") this.showWarnings(event.value);
      }),
    ];
  }

  open() {}

  close() {
    this.bus.listeners.delete(this.listener);
    for (const watch of this.watches) watch.stop();
  }

  build() {
    this.cards = figures.map((figure) => {
      const plot = new Plot(figure.format, { least: figure.least });
      const number = el("strong", { class: "figure" }, "–");
      return { figure, plot, number,
        element: el("section", { class: "card" }, el("h3", {}, figure.title), number, plot.element) };
    });
    this.summary = el("p", { class: "summary" });
    const card = (title, name) =>
      el("section", { class: "card wide" }, el("h3", {}, title), (this[name] = el("div", {})));
    this.frame.append(
      el("div", { class: "health" }, this.summary,
        el("div", { class: "figures" }, ...this.cards.map((entry) => entry.element)),
        card("Slow or paused", "slowBox"), card("Plugins", "pluginBox"), card("What plugins tell", "toldBox"),
        card("Warnings", "warningBox")),
    );
    this.showSlow();
    this.showPlugins();
    this.showTold();
    this.showWarnings([]);
  }

  measured({ at, stats }) {
    for (const { figure, plot, number } of this.cards) {
      const measured = figure.of(stats);
      number.textContent = measured === undefined ? "–" : figure.format(measured);
      plot.add(measured, at);
    }
    const minutes = Math.floor(stats.uptime / 60);
    const since = minutes < 1 ? `${Math.round(stats.uptime)} s` : minutes < 120 ? `${minutes} min`
      : `${Math.floor(minutes / 60)} h`;
    const { version } = this.bus.link.greeting ?? {};
    this.summary.textContent =
      `Broker ${shown(version ?? "")}, process ${stats.pid}, up for ${since}, revision ${amount(stats.revision)}, `
      + `${amount(stats.subscriptions)} subscriptions.`;
  }

  gather(found, event, show) {
    if (event === null) found.clear();
    else if (event.event === "update") found.set(event.key, event.value);
    else found.delete(event.key);
    show();
  }

  showSlow() {
    const rows = [...this.slow.values()].map((client) => el("tr", { data: { state: client.state } },
      el("td", {}, clientName(client.name)), el("td", {}, stateMark(client.state)),
      el("td", { class: "number" }, `${amount(client.owed)} keys`),
      el("td", { class: "number" }, bytes(client.queued))));
    put(this.slowBox, rows.length === 0 ? el("p", { class: "empty good" }, "Every observer keeps up.")
      : table(["Client", "State", "Owed", "Queued"], rows));
  }

  showPlugins() {
    const rows = [...this.plugins.values()].map((plugin) => el("tr", { data: { state: plugin.state } },
      el("td", {}, clientName(plugin.name)), el("td", {}, stateMark(plugin.state ?? "?")),
      el("td", { class: "number" }, amount(plugin.restarts ?? 0)),
      el("td", {}, plugin.since ? timeOfDay(plugin.since) : ""),
      el("td", {}, shown(plugin.problem ?? plugin.end ?? ""))));
    put(this.pluginBox, rows.length === 0 ? el("p", { class: "empty" }, "No supervisor runs plugins here.")
      : table(["Plugin", "State", "Restarts", "Since", "Last end"], rows));
  }

  showTold() {
    const rows = [...this.told].map(([key, health]) => {
      const counts = Object.entries(health.counts ?? {}).map(([name, count]) => `${name} ${count}`);
      return el("tr", { data: { state: health.state } },
        el("td", {}, clientName(spelledName(key))),
        el("td", {}, stateMark(health.state)),
        el("td", {}, health.since ? timeOfDay(health.since) : ""),
        el("td", {}, shown(health.message ?? "")), el("td", {}, shown(counts.join(", "))));
    });
    put(this.toldBox, rows.length === 0 ? el("p", { class: "empty" }, "None tells how it is.")
      : table(["Plugin", "State", "Since", "What is wrong", "Counts"], rows));
  }

  showWarnings(warnings) {
    const rows = warnings.toReversed().map((warning) => el("tr", {},
      el("td", {}, timeOfDay(warning.when)), el("td", {}, shown(warning.kind)),
      el("td", { class: "number" }, `${warning.times}×`), el("td", {}, shown(warning.message))));
    put(this.warningBox, rows.length === 0 ? el("p", { class: "empty good" }, "None.")
      : table(["When", "Kind", "", "What"], rows));
  }
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
