// Rows of the causes' view as a recording, which `plugboard replay` plays: lines as the broker's, each with its
// time in front, and a first one that says what this is.

import { isSet } from "./values.js";

/** The text of a recording. `rows` begin with the oldest. What has no value is only counted. */
export function recording(rows, pattern, greeting) {
  const start = rows[0]?.at ?? 0;
  const { epoch, version } = greeting ?? {};
  const head = { recording: 1, patterns: [pattern], started: new Date(start).toISOString(), epoch, version };
  const lines = [JSON.stringify(head)];
  let [last, dropped] = [0, 0];
  for (const row of rows) {
    last = Math.max(last, row.at - start);
    const { key, revision, op, by, cause, call, outcome, text } = row;
    const ms = Number(last.toFixed(3));
    if (op === "call") {
      const server = row.observers[0]?.name;
      if (server === undefined || outcome === "held") continue;
      lines.push(JSON.stringify({ ms, event: "trace", key, revision, op, by, cause, call, server: { name: server },
        outcome: "asked" }));
    } else if (op !== "delete" && text === undefined) {
      dropped += 1;
    } else {
      const line = JSON.stringify({ ms, event: isSet(row) ? "update" : op, key, revision, by, cause });
      lines.push(op === "delete" ? line : `${line.slice(0, -1)},"value":${text}}`);
    }
  }
  if (dropped > 0) lines.push(JSON.stringify({ ms: Number(last.toFixed(3)), event: "lagged", dropped }));
  return { text: `${lines.join("\n")}\n`, dropped };
}
