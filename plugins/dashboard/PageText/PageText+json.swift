// Made by .ci/page from plugins/dashboard/page/json.js: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let jsonJS: StaticString = ##"""
// JSON as text. A value on the bus keeps its spelling (49.90 stays 49.90), and JSON.parse would lose it.
// So this finds the parts of a text without changing them. The broker has checked the text.

function endOfString(text, at) {
  for (at += 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 34) return at + 1;
    if (code === 92) at += 1;
  }
  return text.length;
}

function isSpace(code) {
  return code === 32 || code === 9 || code === 10 || code === 13;
}

function skipSpace(text, at) {
  while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function endOfValue(text, at) {
  let depth = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 34) {
      at = endOfString(text, at);
      if (depth === 0) return at;
    } else if (code === 123 || code === 91) {
      depth += 1;
      at += 1;
    } else if (code === 125 || code === 93) {
      if (depth === 0) return at;
      depth -= 1;
      at += 1;
      if (depth === 0) return at;
    } else {
      if (depth === 0 && (code === 44 || isSpace(code))) return at;
      at += 1;
    }
  }
  return at;
}

/** The members of an object, each as its name and its text. */
export function members(text) {
  const found = [];
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (at < text.length && text[at] === '"') {
    const nameEnd = endOfString(text, at);
    const name = JSON.parse(text.slice(at, nameEnd));
    at = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const end = endOfValue(text, at);
    found.push([name, text.slice(at, end)]);
    at = skipSpace(text, skipSpace(text, end) + 1);
  }
  return found;
}

/** The text of one member of an object; undefined if it has none. */
export function member(text, name) {
  const found = members(text).find((entry) => entry[0] === name);
  return found && found[1];
}

/** The elements of an array, each as its text. */
export function elements(text) {
  const found = [];
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (at < text.length && text[at] !== "]") {
    const end = endOfValue(text, at);
    found.push(text.slice(at, end));
    at = skipSpace(text, skipSpace(text, end) + 1);
  }
  return found;
}

/** What a text is: `object`, `array`, `string`, `number`, `word`. */
export function kind(text) {
  switch (text[skipSpace(text, 0)]) {
    case "{": return "object";
    case "[": return "array";
    case '"': return "string";
    case "t": case "f": case "n": return "word";
    default: return "number";
  }
}

/** The scalars in a value, each by its JSON Pointer, at most so many. */
export function leaves(text, most = 2000) {
  const found = new Map();
  const visit = (part, pointer) => {
    if (found.size >= most) return;
    const type = kind(part);
    const parts = type === "object" ? members(part)
      : type === "array" ? elements(part).map((element, at) => [String(at), element]) : [];
    if (parts.length === 0) found.set(pointer, part);
    for (const [name, inner] of parts) {
      visit(inner, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    }
  };
  visit(text, "");
  return found;
}

/** How two values differ: an entry for each pointer whose scalar was added, removed or changed. */
export function differences(before, after) {
  const [old, now] = [leaves(before), leaves(after)];
  const found = [];
  for (const [pointer, text] of now) {
    if (!old.has(pointer)) found.push({ pointer, now: text });
    else if (old.get(pointer) !== text) found.push({ pointer, old: old.get(pointer), now: text });
  }
  for (const [pointer, text] of old) if (!now.has(pointer)) found.push({ pointer, old: text });
  return found;
}
"""##
}
