// Making elements, and what all views share: colours of clients, ages, numbers. Text from the bus gets
// into the page only as text: nothing here, or anywhere else, reads markup.

/** An element. `properties` are attributes, listeners (`onclick`), `class`, `data`, or `style` values. */
export const el = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

/** The same for a picture. */
export const svg = (tag, properties, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") {
      for (const [part, text] of Object.entries(value)) element.style.setProperty(part, text);
    } else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  put(element, ...children);
  return element;
}

/** Replaces what an element contains. */
export function put(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

const unseen =
  /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb]|\p{Bidi_Control}|\p{Default_Ignorable_Code_Point}/gu;

/** A text as it is shown: what can't be seen is spelled as JSON does. */
export function shown(text) {
  return String(text).replace(unseen, (character) =>
    [...Array(character.length).keys()]
      .map((at) => "\\u" + character.charCodeAt(at).toString(16).padStart(4, "0"))
      .join(""),
  );
}

const colours = new Map();

/** The colour of a client: the same in all views, as long as the page is open. */
export function colour(name) {
  if (!colours.has(name)) colours.set(name, colours.size % 10);
  return `var(--c${colours.get(name)})`;
}

/** A client's name with its colour. The dot of one that has gone is hollow. */
export function clientName(name, isGone = false) {
  return el("span", { class: isGone ? "client is-gone" : "client", style: { "--own": colour(name) },
    title: isGone ? "its connection has ended" : null }, shown(name));
}

/** The browser's clock and time zone may differ from those of the bus, so the dashboard tells its own time. */
let clockStart = Date.now() - performance.now();

export function setClock(milliseconds) {
  clockStart = milliseconds - performance.now();
}

/** The present time on the bus's machine, in milliseconds since 1970. */
export function now() {
  return clockStart + performance.now();
}

/** The same as the protocol writes times. */
export const present = () => new Date(now()).toISOString();

/** How long ago: `now`, `4 s`, `3 min`, `2 h`. */
export function age(milliseconds) {
  return span(now() - milliseconds);
}

/** A length of time in milliseconds, as an age. */
export function span(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 1) return "now";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

const units = ["", " k", " M", " G", " T"];

/** A number of things, short: `12,345` or `1.2 M`. */
export function amount(number) {
  if (!Number.isFinite(number)) return "–";
  if (Math.abs(number) < 100000) {
    const digits = Math.abs(number) < 10 && number % 1 !== 0 ? 1 : 0;
    return number.toLocaleString("en", { maximumFractionDigits: digits });
  }
  return scaled(number, units);
}

/** `1 key`, `12,345 keys`. */
export const keyCount = (number) => `${amount(number)} ${number === 1 ? "key" : "keys"}`;

/** A number of bytes, in the units of the command: `812 B`, `5.2 MB`. */
export function bytes(number) {
  if (!Number.isFinite(number)) return "–";
  return number < 1000 ? `${Math.round(number)} B` : scaled(number, [" B", " kB", " MB", " GB", " TB"]);
}

function scaled(number, names) {
  let step = 0;
  while (Math.abs(number) >= 999.5 && step < names.length - 1) {
    number /= 1000;
    step += 1;
  }
  return number.toFixed(Math.abs(number) < 99.95 ? 1 : 0) + names[step];
}

/** Microseconds: `48 µs`, `1.2 ms`. */
export function microseconds(number) {
  if (!Number.isFinite(number)) return "–";
  if (number < 1000) return `${Math.round(number)} µs`;
  return number < 1e6 ? `${(number / 1000).toFixed(1)} ms` : `${(number / 1e6).toFixed(1)} s`;
}

/** Whether a key is that of a program's health. */
export const isHealth = (key) => /^[^.]+\.health$/.test(key);

/** A time of the protocol without its date: `13:05:00.123Z`. */
export function timeOfDay(text) {
  return String(text).slice(11, 24);
}

/** The same of milliseconds since 1970. */
export function utc(milliseconds) {
  return timeOfDay(new Date(milliseconds).toISOString());
}

/** What a state is called, with its colour: an observer's or a plugin's. */
export function stateMark(state) {
  return el("span", { class: "mark-state", data: { state } }, state);
}

/** A function that calls `body` at most once in so many milliseconds, and always once more at the end. */
export function throttled(milliseconds, body) {
  let timer = null;
  let again = false;
  return function call() {
    if (timer !== null) {
      again = true;
      return;
    }
    body();
    timer = setTimeout(() => {
      timer = null;
      if (!again) return;
      again = false;
      call();
    }, milliseconds);
  };
}

/** The head of a panel or a dialog: what it is about, and a button that closes it. */
export function panelHead(heading, close, ...more) {
  return el("div", { class: "side-head" }, heading, ...more,
    el("button", { type: "button", class: "close", "aria-label": "Close", onclick: close }, "×"));
}

/** A part of a view, with a title. */
export const card = (title, ...parts) => el("section", { class: "card" }, el("h3", {}, title), ...parts);

/** What an empty view says, with what one can type. */
export function emptyText(text, code, rest = "") {
  return [el("p", {}, text, el("code", {}, code), rest)];
}

/** The keys of a search: ↓ goes on to what was found, Escape leaves it. */
export function fromSearch(goOn) {
  return (event) => {
    if (event.key === "ArrowDown") goOn();
    else if (event.key === "Escape") event.target.blur();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
}
