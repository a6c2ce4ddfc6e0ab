// How often keys are written, and by whom. On a bus with few keys each write is heard; on a large or busy one they
// are counted for a moment, and then not for a while.

import { PacedWatch } from "./pace.js";

/** On a bus with more keys the page would hear too much. */
const heardKeysMax = 2000;
const countMilliseconds = 120;
const countEvery = 10000;

const edge = ({ by, key }) => `${by}\n${key}`;

export class WriteRates {
  /** `wrote` gets each event that names a writer, and `changed` is called when there are new rates. */
  constructor(link, wrote, changed) {
    Object.assign(this, { link, wrote, changed, rates: new Map() });
    this.ticker = setInterval(() => this.decay(), 1000);
  }

  close() {
    this.isClosed = true;
    this.heard?.stop();
    clearInterval(this.ticker);
    this.endCount();
  }

  /** The writes a second of a key by a client. */
  of(by, key) {
    return this.rates.get(edge({ by, key })) ?? 0;
  }

  /** Begins, on a bus with so many keys. */
  hear(keys) {
    const isSmall = keys <= heardKeysMax;
    if (isSmall === this.isSmall) return;
    this.isSmall = isSmall;
    this.heard?.stop();
    this.heard = isSmall ? new PacedWatch(this.link, { key: "**", values: false, every: 500 },
      (event) => this.take(event), () => this.count()) : null;
    if (!isSmall) this.count();
  }

  take(event) {
    if (event === null || event.by === undefined) return;
    this.wrote(event);
    if (event.initial) return;
    this.rates.set(edge(event), this.of(event.by, event.key) + 0.2 * (1 + (event.skipped ?? 0)));
    this.changed();
  }

  /** Counts for a moment. A key's first event begins its time, and isn't counted. */
  count() {
    this.endCount();
    if (this.isClosed || (this.isSmall && !this.heard.isResting)) return;
    const counts = new Map();
    let [first, last] = [null, null];
    this.counting = this.link.watch({ key: "**", values: false, initial: false, every: 50 }, (event) => {
      if (event === null || event.by === undefined) return;
      last = performance.now();
      first ??= last;
      this.wrote(event);
      const name = edge(event);
      counts.set(name, (counts.get(name) ?? -1) + 1 + (event.skipped ?? 0));
      if (last - first < countMilliseconds) return;
      this.endCount();
      this.rates = new Map([...counts].map(([key, count]) => [key, (count * 1000) / (last - first)]));
      this.changed();
    });
    this.countTimer = setTimeout(() => this.count(), countEvery);
  }

  endCount() {
    this.counting?.stop();
    clearTimeout(this.countTimer);
  }

  /** Rates are means over about five seconds: each second they forget a fifth. */
  decay() {
    if (!this.isSmall || this.heard.isResting) return;
    for (const [name, rate] of this.rates) {
      if (rate < 0.02) this.rates.delete(name);
      else this.rates.set(name, rate * 0.8);
    }
    if (this.rates.size > 0) this.changed();
  }

  /** The most of what is written, each with its rate, by the key or, with 0, by the writer. */
  busiest(part, most) {
    const sums = new Map();
    for (const [name, rate] of this.rates) {
      const of = name.split("\n")[part];
      sums.set(of, (sums.get(of) ?? 0) + rate);
    }
    return [...sums].filter(([, rate]) => rate >= 0.1).sort((a, b) => b[1] - a[1]).slice(0, most);
  }
}
