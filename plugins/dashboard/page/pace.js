// Subscriptions that don't slow a busy bus. One that hears too much is given up for a while. Where values
// are shown, samples take its place: a subscription that ends as soon as it has the current values.

import { member } from "./json.js";

const spanMilliseconds = 250;
/** So many writes in a span are too many to be heard. Long lines count more than once. */
const heardMax = 5000;
const lineLength = 2000;
const restMilliseconds = 30000;
const sampleMilliseconds = 2000;

/** A subscription like one of `link.watch`. `rested` is called when it begins to rest. */
export class PacedWatch {
  constructor(link, fields, handler, rested, most = heardMax) {
    Object.assign(this, { link, fields, handler, rested, most, isEnded: false });
    this.listen();
  }

  stop() {
    this.isEnded = true;
    this.watch.stop();
    clearTimeout(this.restTimer);
    clearTimeout(this.sampleTimer);
  }

  listen() {
    this.watch?.stop();
    clearTimeout(this.sampleTimer);
    Object.assign(this, { isResting: false, heard: 0, since: performance.now() });
    this.watch = this.link.watch(this.fields, (event) => this.take(event));
  }

  take(event) {
    this.handler(event);
    if (event === null || event.initial || event.revision === undefined) return;
    const now = performance.now();
    if (now - this.since > spanMilliseconds) Object.assign(this, { heard: 0, since: now });
    this.heard += 1 + (event.skipped ?? 0) + event.text.length / lineLength;
    if (this.heard > this.most && !this.isResting) this.rest();
  }

  rest() {
    this.isResting = true;
    this.watch.stop();
    this.restTimer = setTimeout(() => this.listen(), restMilliseconds);
    this.rested?.();
  }
}

/** The values of some keys, as they change: ten times a second, or every two seconds. */
export class KeyWatch extends PacedWatch {
  constructor(link, keys, handler) {
    super(link, { keys, every: 100, when: true }, handler);
  }

  listen() {
    this.known ??= new Map();
    super.listen();
  }

  take(event) {
    if (event?.event === "update") this.known.set(event.key, event.revision);
    else if (event?.event === "delete") this.known.delete(event.key);
    super.take(event);
  }

  rest() {
    super.rest();
    this.sample();
  }

  sample() {
    if (this.isEnded || !this.isResting) return;
    const found = new Map();
    this.watch = this.link.watch({ ...this.fields, every: sampleMilliseconds }, (event) => {
      if (event === null) found.clear();
      else if (event.event === "update" && event.initial) found.set(event.key, event);
      else if (event.event === "synced") this.sampled(found, event.revision);
    });
  }

  sampled(found, revision) {
    this.watch.stop();
    if (this.isEnded) return;
    for (const [key, event] of found) {
      const before = this.known.get(key);
      if (before === event.revision) continue;
      this.known.set(key, event.revision);
      if (before !== undefined) delete event.initial;
      this.handler(event);
    }
    for (const key of this.known.keys()) {
      if (found.has(key)) continue;
      this.known.delete(key);
      this.handler({ event: "delete", key, revision, by: "–" });
    }
    this.sampleTimer = setTimeout(() => this.sample(), sampleMilliseconds);
  }
}

/** The most characters of values that are looked at at once, and of earlier events of a key. */
const scanMax = 50_000_000;
const earlierMax = 4_000_000;

/** A subscription that ends by itself: as soon as `take` returns something for an event, `end` gives that. */
function once(link, fields, take) {
  let [watch, finish] = [null, null];
  const end = new Promise((done) => (finish = (result) => {
    watch?.stop();
    done(result);
  }));
  watch = link.watch(fields, (event) => {
    const result = take(event);
    if (result !== undefined) finish(result);
  });
  return { end, stop: () => finish(null) };
}

/** Hands each event of a value that is there to `visit`, once. `end` tells whether it was all of them. */
export function scanValues(link, fields, visit) {
  let characters = 0;
  return once(link, fields, (event) => {
    if (event?.event === "synced" || event?.event === "refused") return event.event === "synced";
    if (!event?.initial) return undefined;
    characters += event.text.length;
    if (characters > scanMax) return false;
    visit(event, member(event.text, "value"));
    return undefined;
  });
}

/** The first `most` events of a key after a revision. `end` gives null if the broker doesn't know all of them. */
export function eventsSince(link, key, since, most = Infinity) {
  let [found, characters] = [[], 0];
  return once(link, { key, since, delivery: "all", when: true }, (event) => {
    if (event === null) [found, characters] = [[], 0];
    else if (event.initial || event.event === "refused") return null;
    else if (event.event === "synced") return found;
    else if (event.event === "update" || event.event === "delete") {
      characters += event.text.length;
      if (found.push(event) >= most || characters > earlierMax) return found;
    }
    return undefined;
  });
}
