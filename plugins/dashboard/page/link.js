// The page's connection to the bus. Events come as one stream, which is read by fetch because it needs the
// token's header; requests go out as lines of the protocol. Subscriptions are kept here and made anew on
// each greeting, so views need not know that the broker was gone. A hidden page closes its stream, and so
// costs the bus nothing.

import { setClock } from "./dom.js";

const tokenName = "plugboard-token";

/** The page's token, from its address or from before. It doesn't stay in the address. */
function takeToken() {
  const fragment = location.hash.slice(1);
  if (/^[0-9a-f]{32}$/.test(fragment)) {
    sessionStorage.setItem(tokenName, fragment);
    history.replaceState(null, "", "#/keys");
  }
  return sessionStorage.getItem(tokenName);
}

/** A reply that is an error. `line` has its members. */
export class Refused extends Error {
  constructor(line) {
    super(line.message ?? line.error);
    this.line = line;
  }
}

/** What the page keeps of a subscription. */
class Watch {
  constructor(link, name, fields, handler) {
    Object.assign(this, { link, name, fields, handler, isEnded: false });
  }

  /** Ends it. No event comes after this. */
  stop() {
    if (this.isEnded) return;
    this.isEnded = true;
    this.link.end(this);
  }
}

export class Link {
  /** `connecting`, `live`, `gone` (no broker), `ended` (no dashboard), `forbidden`, `hidden`. */
  state = "connecting";
  writes = false;
  greeting = null;
  #token = takeToken();
  #stream = null;
  #ids = 0;
  #names = 0;
  #watches = new Map();
  #abort = null;
  #listeners = new Set();

  /** Begins, and goes on by itself. */
  start() {
    document.addEventListener("visibilitychange", () => this.#look());
    window.addEventListener("hashchange", () => {
      if (!/^#[0-9a-f]{32}$/.test(location.hash)) return;
      this.#token = takeToken();
      this.#abort?.abort();
      this.#look();
    });
    this.#look();
  }

  /** Calls back now and whenever the state changes. Returns what ends that. */
  onState(listener) {
    this.#listeners.add(listener);
    listener();
    return () => this.#listeners.delete(listener);
  }

  /** Sends a request, an object or a whole line, and returns the reply. Throws `Refused`. */
  async ask(request) {
    if (this.#stream === null) throw new Error("there is no connection");
    const id = (this.#ids += 1);
    const answer = await fetch("/request", {
      method: "POST",
      headers: { Authorization: `Bearer ${this.#token}`, "Plugboard-Stream": this.#stream },
      body: typeof request === "string" ? request : JSON.stringify({ ...request, id }),
    });
    if (answer.status === 403) this.#become("forbidden");
    if (!answer.ok) throw new Error(`the dashboard answers ${answer.status}`);
    const text = await answer.text();
    const line = JSON.parse(text);
    line.text = text.trimEnd();
    if (line.error !== undefined) throw new Refused(line);
    return line;
  }

  /** The number of the next request, for one whose text is made elsewhere. */
  nextID() {
    return (this.#ids += 1);
  }

  /** Subscribes; `handler` gets each event, and `null` before the first one of each connection. */
  watch(fields, handler) {
    const watch = new Watch(this, `w${(this.#names += 1)}`, fields, handler);
    this.#watches.set(watch.name, watch);
    if (this.state === "live") this.#begin(watch);
    return watch;
  }

  /** Keeps the values of keys in `found`, as `made` of each and of what was there. Calls `changed` after each event. */
  gather(fields, found, changed, made = (value) => value) {
    return this.watch(fields, (event) => {
      if (event === null) found.clear();
      else if (event.event === "update") found.set(event.key, made(event.value, found.get(event.key)));
      else found.delete(event.key);
      changed();
    });
  }

  /** Requests can overtake each other, so a subscription ends when it is sure to have begun. */
  async end(watch) {
    this.#watches.delete(watch.name);
    if (await watch.beginning && this.state === "live") {
      this.ask({ op: "unsubscribe", sub: watch.name }).catch(() => {});
    }
  }

  #begin(watch) {
    watch.handler(null);
    watch.beginning = this.#subscribe(watch);
  }

  /** Returns whether the broker has the subscription. */
  async #subscribe(watch) {
    const { greeting } = this;
    try {
      await this.ask({ op: "subscribe", ...watch.fields, sub: watch.name });
      return true;
    } catch (error) {
      if (error instanceof Refused) watch.handler({ event: "refused", message: error.message });
      else setTimeout(() => { if (this.#isMissing(watch, greeting)) this.#begin(watch); }, 500);
      return false;
    }
  }

  /** Whether a subscription that failed is still wanted, on the same connection. */
  #isMissing(watch, greeting) {
    return !watch.isEnded && this.state === "live" && this.greeting === greeting;
  }

  #become(state) {
    if (this.state === state) return;
    this.state = state;
    for (const listener of this.#listeners) listener();
  }

  #look() {
    if (document.hidden) {
      this.#abort?.abort();
    } else if (this.#abort === null || this.#abort.signal.aborted) {
      this.#run();
    }
  }

  async #run() {
    const abort = (this.#abort = new AbortController());
    let pause = 250;
    while (!abort.signal.aborted) {
      try {
        const headers = { Authorization: `Bearer ${this.#token}` };
        const answer = await fetch("/events", { headers, signal: abort.signal });
        if (answer.status === 403) return this.#become("forbidden");
        if (!answer.ok) throw new Error(String(answer.status));
        pause = 250;
        await this.#read(answer.body.getReader());
      } catch {
        // Tried again below.
      }
      if (this.#abort !== abort) return;
      this.#stream = null;
      this.#become(abort.signal.aborted ? "hidden" : "ended");
      await new Promise((done) => setTimeout(done, pause));
      pause = Math.min(pause * 2, 4000);
    }
  }

  async #read(reader) {
    const decoder = new TextDecoder();
    let rest = "";
    while (true) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      let start = 0;
      let end = rest.indexOf("\n\n");
      while (end >= 0) {
        this.#take(rest.slice(start, end));
        start = end + 2;
        end = rest.indexOf("\n\n", start);
      }
      rest = rest.slice(start);
    }
  }

  #take(block) {
    if (block.startsWith("data: ")) return this.#event(block.slice(6));
    if (!block.startsWith("event: ")) return;
    const [name, data] = block.slice(7).split("\ndata: ");
    if (name === "stream") {
      const news = JSON.parse(data);
      this.#stream = String(news.stream);
      this.writes = news.write;
      setClock(news.now);
    } else if (name === "gone") {
      this.#become("gone");
    }
  }

  #event(text) {
    const event = JSON.parse(text);
    event.text = text;
    if (event.event === "hello") {
      this.greeting = event;
      this.state = "connecting";
      this.#become("live");
      for (const watch of this.#watches.values()) this.#begin(watch);
      return;
    }
    const watch = this.#watches.get(event.sub);
    if (watch) watch.handler(event);
  }
}
