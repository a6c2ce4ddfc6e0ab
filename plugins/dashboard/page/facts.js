// What the page knows of each key besides its place in the tree: its value as far as it was heard, how often
// it changes, and how large it is.

import { present } from "./dom.js";
import { member } from "./json.js";

const previewMax = 600;
const encoder = new TextEncoder();

export class KeyFacts {
  constructor() {
    Object.assign(this, { known: new Map(), listed: new Map(), sizes: new Map(), changing: new Set() });
  }

  /** What is known of a key, or nothing. */
  get(key) {
    return this.known.get(key);
  }

  entry(key) {
    let entry = this.known.get(key);
    if (!entry) this.known.set(key, (entry = { changes: 0, rate: 0 }));
    return entry;
  }

  delete(key) {
    for (const found of [this.known, this.listed, this.sizes]) found.delete(key);
  }

  /** Takes the revision of a list. Returns whether the key was written since the last one. */
  list(key, revision) {
    const before = this.listed.get(key);
    this.listed.set(key, revision);
    return before < revision;
  }

  /** Takes the value of an update. */
  take(event) {
    const entry = this.entry(event.key);
    const text = member(event.text, "value");
    const size = this.weigh(event.key, text);
    Object.assign(entry, { text: text.slice(0, previewMax), size, revision: event.revision });
    if (event.initial) Object.assign(entry, { by: event.by, live: event.live, when: event.when });
    return entry;
  }

  /** The bytes of a value. */
  weigh(key, text) {
    const size = encoder.encode(text).length;
    this.sizes.set(key, size);
    return size;
  }

  /** Counts a change. Returns nothing if it was counted before. */
  count(event) {
    const entry = this.entry(event.key);
    if (event.revision <= (entry.counted ?? 0)) return undefined;
    const count = 1 + (event.skipped ?? 0);
    Object.assign(entry, { counted: event.revision, changes: entry.changes + count, rate: entry.rate + 0.2 * count,
      when: present(), by: event.by ?? entry.by, live: true });
    this.changing.add(entry);
    return entry;
  }

  /** Each second the rates forget a fifth: they are means over about five seconds. */
  decay() {
    for (const entry of this.changing) {
      entry.rate *= 0.8;
      if (entry.rate < 0.02) this.changing.delete(entry);
    }
  }

  /** By what keys are sorted. */
  measure(order, key) {
    const entry = this.known.get(key);
    if (order === "rate") return entry?.rate ?? 0;
    if (order === "size") return this.sizes.get(key) ?? 0;
    return Math.max(entry?.counted ?? 0, this.listed.get(key) ?? 0);
  }
}
