// Made by .ci/page from plugins/dashboard/page/write.js: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let writeJS: StaticString = ##"""
// The form that writes, for a dashboard with `--write`. Before a write it shows what the broker says would
// happen. If the plugin lacks a right, it says which line of plugin.json would give it.

import { el, put, clientName, shown } from "./dom.js";
import { Refused } from "./link.js";

const operations = ["publish", "emit", "patch", "delete"];

export class WriteForm {
  constructor(bus) {
    this.bus = bus;
    this.operation = el("select", { name: "op", "aria-label": "What to do", onchange: () => this.changed() },
      ...operations.map((name) => el("option", {}, name)));
    this.key = el("input", { name: "key", required: true, spellcheck: "false", autocomplete: "off",
      placeholder: "key", "aria-label": "Key", oninput: () => this.changed() });
    this.value = el("textarea", { name: "value", rows: 6, spellcheck: "false", placeholder: "JSON",
      "aria-label": "Value", oninput: () => this.changed() });
    this.outcome = el("div", { class: "outcome", "aria-live": "polite" });
    this.dialog = el("dialog", { class: "write-form" },
      el("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); this.send(); } },
        el("div", { class: "side-head" }, el("h2", {}, "Write"),
          el("button", { type: "button", class: "close", "aria-label": "Close",
            onclick: () => this.dialog.close() }, "×")),
        el("div", { class: "write-line" }, this.operation, this.key), this.value, this.outcome,
        el("div", { class: "write-line" },
          el("button", { type: "button", onclick: () => this.preview() }, "Who would be told?"),
          el("button", { type: "submit", class: "primary" }, "Send"))));
    document.body.append(this.dialog);
  }

  open(key = "", value = "") {
    if (key) this.key.value = key;
    this.value.value = value ?? "";
    this.changed();
    this.dialog.showModal();
  }

  changed() {
    this.value.hidden = this.operation.value === "delete";
    put(this.outcome);
  }

  /** The write as text, because JSON.stringify would change the spelling of numbers. */
  write() {
    const [op, key] = [this.operation.value, JSON.stringify(this.key.value)];
    const value = op === "delete" ? "" : `,"value":${this.value.value.replace(/[\r\n]+/g, " ").trim() || "null"}`;
    return { op, rest: `"key":${key}${value}` };
  }

  async preview() {
    const { op, rest } = this.write();
    await this.attempt(`{"op":"explain","id":${this.bus.link.nextID()},"write":{"op":"${op}",${rest}}}`, (reply) => {
      if (reply.refused) return [this.complaint(new Refused(reply.refused), { op, key: this.key.value })];
      const told = reply.observers.map((observer) => el("div", { class: "observer" },
        clientName(observer.name), el("span", { class: "mark-outcome", data: { outcome: observer.outcome } },
          observer.outcome), el("span", { class: "pattern" }, shown(observer.pattern))));
      const head = told.length === 0 ? "Nobody observes this key." : `${reply.effect} for:`;
      return [el("p", {}, head), ...told];
    });
  }

  async send() {
    const { op, rest } = this.write();
    await this.attempt(`{"op":"${op}","id":${this.bus.link.nextID()},${rest}}`, (reply) =>
      [el("p", { class: "done" }, `Done: revision ${reply.revision}.`)]);
  }

  async attempt(line, tell) {
    try {
      put(this.outcome, ...tell(await this.bus.link.ask(line)));
    } catch (error) {
      put(this.outcome, this.complaint(error, { op: this.operation.value, key: this.key.value }));
    }
  }

  /** Says what is wrong, and for a missing right how to give it. */
  complaint(error, request) {
    const { line } = error;
    const box = el("div", { class: "complaint" }, el("p", {}, shown(error.message)));
    if (line?.hint) box.append(el("p", {}, shown(line.hint)));
    if (line?.error !== "forbidden" && line?.error !== "not_found") return box;
    const isControl = "client" in request;
    if (!isControl && line.error === "not_found") return box;
    const right = isControl ? `"controls": ["**", "$broker.**"]`
      : `"publishes": [${JSON.stringify(request.key)}]`;
    box.append(
      el("p", {}, "If the dashboard's plugin.json doesn't allow it, add this line, and run ",
        el("code", {}, "plugboard plugins reload"), ":"),
      el("pre", {}, shown(right)),
    );
    return box;
  }
}
"""##
}
