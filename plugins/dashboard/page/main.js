// The frame around the views: which one is shown, the state of the connection, and the bus's pulse. The
// address names the view and what is open in it, so that back, forward and reload work.

import { el, put, amount, now, panelHead, shown } from "./dom.js";
import { Link } from "./link.js";
import { KeysView } from "./keys.js";
import { CausesView } from "./causes.js";
import { GraphView } from "./graph.js";
import { HealthView } from "./health.js";
import { AskForm, WriteForm } from "./write.js";

const views = [
  { name: "keys", title: "Keys", make: KeysView },
  { name: "causes", title: "Causes", make: CausesView },
  { name: "graph", title: "Graph", make: GraphView },
  { name: "health", title: "Health", make: HealthView },
];

const states = {
  connecting: "connecting",
  live: "live",
  gone: "no broker",
  ended: "no dashboard",
  forbidden: "no entry",
  hidden: "paused",
};

const notices = {
  gone: "The broker is gone. The page goes on by itself when it is back.",
  ended: "The dashboard has ended. plugboard dashboard starts it, and prints a new address.",
  forbidden: "This address doesn't open the dashboard. plugboard dashboard prints the right one.",
};

const place = (name) => document.getElementById(name);
const link = new Link();
/** What all views share: the last statistics with their times, and who wants to hear of the next. */
const bus = { link, history: [], listeners: new Set() };
/** Five minutes. */
const historyMax = 300;
bus.writeForm = new WriteForm(bus);
bus.askForm = new AskForm(bus);
let present = null;

/** The address's view and what is behind it, such as a key. */
function route() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const view = views.find((candidate) => candidate.name === name) ?? views[0];
  return { view, detail: rest.length ? decodeURIComponent(rest.join("/")) : null };
}

function show() {
  if (/^#[0-9a-f]{32}$/.test(location.hash)) return;
  const { view, detail } = route();
  if (present?.description !== view) {
    present?.view.close();
    const frame = place("view");
    put(frame);
    frame.className = `view-${view.name}`;
    present = { description: view, view: new view.make(bus, frame) };
  }
  present.view.open(detail);
  document.title = `${detail ? shown(detail) : view.title} · Plugboard`;
  for (const tab of place("views").children) {
    if (tab.dataset.view === view.name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
}

function showState() {
  const state = place("state");
  state.dataset.state = link.state;
  state.textContent = states[link.state];
  const notice = notices[link.state];
  place("notice").hidden = !notice;
  place("notice").textContent = notice ?? "";
  place("write").hidden = !link.writes;
}

function begin() {
  put(
    place("views"),
    ...views.map((view) => el("a", { href: `#/${view.name}`, data: { view: view.name } }, view.title)),
  );
  place("write").addEventListener("click", () => bus.writeForm.open(...(present.view.openKey?.() ?? [])));
  window.addEventListener("hashchange", show);
  link.onState(showState);
  link.watch({ key: "$broker.stats" }, (event) => {
    if (event?.event !== "update") return;
    const measured = { at: now(), stats: event.value };
    bus.history.push(measured);
    if (bus.history.length > historyMax) bus.history.shift();
    place("rate").textContent = `${amount(event.value.rates.writes)} writes/s`;
    for (const listener of bus.listeners) listener(measured);
  });
  link.start();
  show();
}

const keyboard = [
  ["1 to 4", "choose a view"], ["/", "goes to the search; ↓ goes on to what it found, Escape leaves it"],
  ["↑ ↓", "go through the keys"], ["→ ←", "open and close a branch"], ["Enter", "opens the key"],
  ["Delete", "deletes the key, if this page may write"], ["Escape", "closes what is open beside, or leaves the list"],
  ["?", "shows this"],
];
const help = el("dialog", { class: "write-form help", "aria-label": "Keys" },
  panelHead(el("h2", {}, "Keys of the keyboard"), () => help.close()),
  el("dl", {}, ...keyboard.flatMap(([key, text]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)])));
document.body.append(help);

document.addEventListener("keydown", (event) => {
  if (event.target.matches("input:not([type=checkbox]), textarea, select") || document.querySelector("dialog[open]")
    || event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "Escape") {
    const close = document.querySelector(".has-detail .side .close");
    if (close) close.click();
    else document.activeElement?.blur();
  }
  if (event.key === "?") help.showModal();
  const view = views[Number(event.key) - 1];
  if (view) location.hash = `#/${view.name}`;
  if (event.key === "/") {
    const search = document.querySelector("input[type=search]");
    if (search) {
      event.preventDefault();
      search.focus();
    }
  }
});

begin();
