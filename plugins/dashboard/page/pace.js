// Subscriptions that don't slow a busy bus. One that hears too much is given up for a while. Where values
// are shown, samples take its place: a subscription that ends as soon as it has the current values.

import { member } from "./json.js";

const spanMilliseconds = 250;
/** So many writes in a span are too many to be heard. */
const heardMax = 5000;
const restMilliseconds = 30000;
const sampleMilliseconds = 2000;

/** A subscription like one of `link.watch`. `rested` is called when it begins to rest. */
export class PacedWatch {
  constructor(link, fields, handler, rested) {
    Object.assign(this, { link, fields, handler, rested, isEnded: false });
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
    this.heard += 1 + (event.skipped ?? 0);
    if (this.heard > heardMax && !this.isResting) this.rest();
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
    super(link, { keys, every: 100 }, handler);
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
    this.watch = this.link.watch({ keys: this.fields.keys, every: sampleMilliseconds }, (event) => {
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

/** The most characters of values that are looked at at once. */
const scanMax = 50_000_000;

/** Hands each value that is there to `visit`, once. `end` tells whether it was all of them. */
export function scanValues(link, pattern, visit) {
  let [watch, finish, characters] = [null, null, 0];
  const end = new Promise((done) => (finish = (isWhole) => {
    watch?.stop();
    done(isWhole);
  }));
  watch = link.watch({ key: pattern }, (event) => {
    if (event?.event === "synced" || event?.event === "refused") finish(event.event === "synced");
    if (!event?.initial) return;
    characters += event.text.length;
    if (characters > scanMax) finish(false);
    else visit(event.key, member(event.text, "value"));
  });
  return { end, stop: () => finish(false) };
}
