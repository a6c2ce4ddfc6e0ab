// The values that traced writes set. A trace doesn't tell them, so they are heard beside it. On a busy bus only
// those of the samples are asked for, as far as they are still there; earlier ones come from the journal.

import { member } from "./json.js";
import { PacedWatch, eventsSince, scanValues } from "./pace.js";

/** More than so many in a quarter of a second aren't heard. */
const heardMax = 250;
/** So many values wait for the traces of their writes, which come later. */
const waitingMax = 200;
/** A longer value isn't kept, but read again when somebody looks at it. */
const lengthMax = 100_000;
const previewMax = 300;
/** A subscription has at most so many keys. */
const keysMax = 64;

/** Whether a write sets a value that stays. */
export const isSet = ({ op }) => !["emit", "delete", "call"].includes(op);

/** Whether an event tells the value of a row. Emits and calls have the revision of the write before them. */
const tells = (event, row) => row.preview === undefined && row.key === event.key && row.revision === event.revision
  && (event.event === "emit" ? row.op === "emit" : isSet(row));

export class WrittenValues {
  /** Fills `rows`, of which the newest is the first. `changed` is called when a value has come. */
  constructor(link, rows, changed) {
    Object.assign(this, { link, rows, changed, waiting: [] });
  }

  listen(pattern) {
    this.close();
    // The first phase, so that others who hold back later ones don't make the broker fold what is waiting.
    this.watch = new PacedWatch(this.link, { key: pattern, initial: false, phase: 0 }, (event) => this.take(event),
      undefined, heardMax);
  }

  close() {
    this.watch?.stop();
    this.waiting = [];
  }

  take(event) {
    if (event?.event !== "update" && event?.event !== "emit") return;
    const row = this.rows.findLast((candidate) => tells(event, candidate));
    if (row) {
      this.give(row, event);
      this.changed();
    } else if (!event.initial && this.waiting.push(event) > waitingMax) this.waiting.shift();
  }

  give(row, event) {
    const text = member(event.text, "value");
    row.preview = text.slice(0, previewMax);
    if (text.length <= lengthMax) row.text = text;
  }

  /** Gives a new row the value that came before it. */
  claim(row) {
    const at = this.waiting.findIndex((event) => tells(event, row));
    if (at >= 0) this.give(row, this.waiting.splice(at, 1)[0]);
  }

  /** No more traces come for a while. Of their rows, values that weren't heard are asked for. */
  rest() {
    this.waiting = [];
    if (this.watch.isResting) this.ask();
  }

  /** Asks for the values of rows that are still there. */
  ask() {
    const missing = this.rows.filter((row) => row.preview === undefined && isSet(row));
    const keys = [...new Set(missing.map((row) => row.key))].slice(0, keysMax);
    if (keys.length > 0) scanValues(this.link, { keys }, (event) => this.take(event));
  }

  /** The whole value that a row's write set; undefined if there is none, or nobody knows it any more. */
  async whole(row) {
    if (row.text !== undefined || !isSet(row) || this.link.state !== "live") return row.text;
    const found = await eventsSince(this.link, row.key, row.revision - 1, 1).end;
    const [event] = found ?? [];
    return event?.revision === row.revision && event.event === "update" ? member(event.text, "value") : undefined;
  }
}
