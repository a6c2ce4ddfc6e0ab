// Small plots of numbers over time, as pictures without any library. A plot keeps its own points, and
// forgets the oldest.

import { el, put, svg, utc } from "./dom.js";

const pointsMax = 300;
/** Above the line there is room for the highest number. */
const top = 15;

/** A line over time. `format` writes its numbers. */
export class Plot {
  constructor(format, { height = 56, least = undefined } = {}) {
    Object.assign(this, { format, height, least, points: [] });
    this.line = svg("path", { class: "plot-line" });
    this.area = svg("path", { class: "plot-area" });
    this.dot = svg("circle", { class: "plot-dot", r: 3 });
    this.picture = svg(
      "svg",
      { class: "plot", viewBox: `0 0 300 ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      this.area,
      this.line,
    );
    this.top = el("span", { class: "plot-top" });
    this.bottom = el("span", { class: "plot-bottom" });
    this.times = el("div", { class: "plot-times" });
    this.element = el("div", { class: "plot-box" }, this.picture, this.top, this.bottom, this.times);
  }

  add(number, at) {
    if (!Number.isFinite(number)) return;
    this.points.push([at, number]);
    if (this.points.length > pointsMax) this.points.shift();
    this.draw();
  }

  /** Shows these points, each a time and a number. */
  show(points) {
    this.points = points;
    this.draw();
  }

  draw() {
    const numbers = this.points.map((point) => point[1]);
    if (numbers.length === 0) {
      for (const part of [this.line, this.area]) part.setAttribute("d", "");
      this.top.textContent = this.bottom.textContent = this.times.textContent = "";
      return;
    }
    const highest = Math.max(...numbers);
    const lowest = this.least === undefined ? Math.min(...numbers) : Math.min(this.least, ...numbers);
    const [first, last] = [this.points[0][0], this.points.at(-1)[0]];
    const room = this.height - top - 3;
    const range = highest - lowest || 1;
    const x = (at) => (last === first ? 300 : ((at - first) / (last - first)) * 300).toFixed(1);
    const isFlat = highest === lowest && !(highest === this.least);
    const y = (number) => (isFlat ? this.height / 2 : top + room - ((number - lowest) / range) * room).toFixed(1);
    const steps = this.points.map(([at, number]) => `${x(at)} ${y(number)}`);
    if (steps.length === 1) steps.unshift(`0 ${y(numbers[0])}`);
    this.line.setAttribute("d", `M${steps.join("L")}`);
    this.area.setAttribute("d", `M0 ${this.height}L${steps.join("L")}L300 ${this.height}Z`);
    this.top.textContent = this.format(highest);
    this.bottom.textContent = highest === lowest ? "" : this.format(lowest);
    put(this.times, el("span", {}, seconds(first)), el("span", {}, first === last ? "" : seconds(last)));
  }
}

/** `13:05:00Z`. */
const seconds = (at) => `${utc(at).slice(0, 8)}Z`;
