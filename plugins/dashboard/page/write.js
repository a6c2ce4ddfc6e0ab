// The form that writes, for a dashboard with `--write`. Before a write it shows what the broker says would
// happen. If the plugin lacks a right, it says which line of plugin.json would give it.

import { el, put, clientName, panelHead, shown } from "./dom.js";
import { member } from "./json.js";
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
        panelHead(el("h2", {}, "Write"), () => this.dialog.close()),
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

/** Asks before something is done with a key of the list. */
export class AskForm {
  constructor(bus) {
    this.bus = bus;
    this.title = el("h2", {});
    this.text = el("p", {});
    this.seconds = el("input", { type: "number", min: "1", value: "60", "aria-label": "Seconds" });
    this.outcome = el("div", { class: "outcome", "aria-live": "polite" });
    this.button = el("button", { type: "submit", class: "primary" });
    this.dialog = el("dialog", { class: "write-form ask-form" },
      el("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); this.act(); } },
        this.title, this.text, this.seconds, this.outcome,
        el("div", { class: "write-line" },
          el("button", { type: "button", onclick: () => this.dialog.close() }, "Cancel"), this.button)));
    document.body.append(this.dialog);
  }

  remove(key) {
    this.ask(key, `Delete ${shown(key)}?`, "Observers are told, and the value is gone.", "Delete");
  }

  limit(key) {
    this.ask(key, `When shall ${shown(key)} end?`,
      "Its value is written again, and is deleted after so many seconds unless somebody writes it before:",
      "Let it end");
  }

  ask(key, title, text, button) {
    Object.assign(this, { key, isEnd: button !== "Delete" });
    put(this.title, title);
    put(this.text, text);
    put(this.button, button);
    put(this.outcome);
    this.seconds.hidden = !this.isEnd;
    this.dialog.showModal();
  }

  /** Only what is there now is changed: if another write comes first, that is said. */
  async act() {
    const { key, bus: { link } } = this;
    try {
      const reply = await link.ask({ op: "get", key });
      const rest = `"id":${link.nextID()},"key":${JSON.stringify(key)},"if":${reply.revision}`;
      const milliseconds = Math.round(Number(this.seconds.value) * 1000);
      await link.ask(this.isEnd
        ? `{"op":"publish",${rest},"ttl":${milliseconds},"value":${member(reply.text, "value")}}`
        : `{"op":"delete",${rest}}`);
      this.dialog.close();
    } catch (error) {
      put(this.outcome, this.bus.writeForm.complaint(error, { key }));
    }
  }
}
