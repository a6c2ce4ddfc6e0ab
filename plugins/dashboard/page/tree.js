// The keys as a tree by their tokens. Pure: names in, rows out. Branches are made from the list of all
// keys; only open branches become rows.

const byName = new Intl.Collator("en", { numeric: true }).compare;

/** A token of the tree: perhaps a key, perhaps a branch, perhaps both. */
class Twig {
  constructor(token, path) {
    Object.assign(this, { token, path, isKey: false, count: 0, branches: null });
  }
}

export class Tree {
  constructor() {
    this.root = new Twig("", "");
    this.keys = new Set();
    this.isSorted = true;
  }

  get count() {
    return this.keys.size;
  }

  /** Adds a key. Returns whether it is new. */
  add(key) {
    if (this.keys.has(key)) return false;
    this.keys.add(key);
    let twig = this.root;
    twig.count += 1;
    let end = -1;
    for (const token of key.split(".")) {
      end += token.length + 1;
      twig.branches ??= new Map();
      let next = twig.branches.get(token);
      if (!next) {
        next = new Twig(token, key.slice(0, end));
        twig.branches.set(token, next);
        twig.isSorted = false;
      }
      next.count += 1;
      twig = next;
    }
    twig.isKey = true;
    return true;
  }

  remove(key) {
    if (!this.keys.delete(key)) return;
    const way = [this.root];
    for (const token of key.split(".")) way.push(way.at(-1).branches.get(token));
    way.at(-1).isKey = false;
    for (let at = way.length - 1; at >= 0; at -= 1) {
      way[at].count -= 1;
      if (at > 0 && way[at].count === 0) way[at - 1].branches.delete(way[at].token);
    }
  }

  /** Becomes the tree of these keys. Returns whether anything has changed. */
  replace(keys) {
    const now = new Set(keys);
    let hasChanged = false;
    for (const key of [...this.keys]) {
      if (now.has(key)) continue;
      this.remove(key);
      hasChanged = true;
    }
    for (const key of now) if (this.add(key)) hasChanged = true;
    return hasChanged;
  }

  /** The rows from the top, each `{ twig, depth, isOpen, isBranch }`. `isOpen` says which branches are open. */
  rows(isOpen) {
    const found = [];
    const visit = (twig, depth) => {
      if (!twig.isSorted) {
        twig.branches = new Map([...twig.branches].sort((a, b) => byName(a[0], b[0])));
        twig.isSorted = true;
      }
      for (const child of twig.branches.values()) {
        const isBranch = child.branches !== null && child.branches.size > 0;
        const open = isBranch && isOpen(child);
        found.push({ twig: child, depth, isBranch, isOpen: open });
        if (open) visit(child, depth + 1);
      }
    };
    if (this.root.branches) visit(this.root, 0);
    return found;
  }
}

/** Whether a key matches a pattern of the protocol: `*` is one token, `**` at the end any number. */
export function matches(pattern, key) {
  const [wanted, tokens] = [pattern.split("."), key.split(".")];
  for (let at = 0; at < wanted.length; at += 1) {
    if (wanted[at] === "**") return tokens.slice(at).every((token) => !token.startsWith("$"));
    if (at >= tokens.length) return false;
    if (wanted[at] === "*" ? tokens[at].startsWith("$") : wanted[at] !== tokens[at]) return false;
  }
  return wanted.length === tokens.length;
}

/** A test of keys for what stands in the search: a pattern, or a part of the key. `hits` match in any case. */
export function searching(text, hits) {
  const words = text.trim().toLowerCase();
  if (words === "") return null;
  if (words.includes("*")) {
    const pattern = text.trim();
    return (key) => matches(pattern, key) || hits.has(key);
  }
  return (key) => key.toLowerCase().includes(words) || hits.has(key);
}
