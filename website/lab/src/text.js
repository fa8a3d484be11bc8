// Edits of the scenario's text. The outline of the engine says where each value is; controls replace its range.

/** The fields of a text by path: `{path, position, key: [from, until], value: [from, until]}`. */
export class Outline {
  constructor(entries, text) {
    this.text = text;
    this.byPath = new Map();
    for (const [path, position, keyFrom, keyUntil, from, until] of entries) {
      this.byPath.set(path, { path, position, key: [keyFrom, keyUntil], value: [from, until] });
    }
  }

  get(path) {
    return this.byPath.get(path);
  }

  /** The text of a value as written. */
  written(path) {
    const entry = this.get(path);
    return entry && this.text.slice(...entry.value);
  }

  /** A string without its quotes. */
  string(path) {
    const written = this.written(path);
    return written && /^(["']).*\1$/s.test(written) ? written.slice(1, -1) : undefined;
  }

  /** The place of a field, or of the nearest part that contains it. Members of a group are at the group. */
  nearest(path) {
    const steps = path.split(".");
    if (steps[0] === "flows" && steps.length > 1) {
      const group = steps[1].replace(/-[0-9]+$/, "");
      if (!this.get(`flows.${steps[1]}`) && this.get(`flows.${group}`)) steps[1] = group;
    }
    for (let length = steps.length; length > 0; length -= 1) {
      // A name may contain a dot, so the longest path is tried as it is.
      const entry = this.get(steps.slice(0, length).join("."));
      if (entry) return entry;
    }
    return undefined;
  }

  /** True if an element of a list is written in braces. */
  isInline(path) {
    return this.written(path)?.startsWith("{") ?? false;
  }
}

/** A value as TOML writes it. */
export const quoted = (text) => JSON.stringify(text);

/**
 * The change that gives a field a value: `{from, to, insert}` for the editor, or null if its place is not known. A new
 * field follows another one of its table.
 */
export function setting(outline, table, field, value, after) {
  const entry = outline.get(`${table}.${field}`);
  if (entry) return { from: entry.value[0], to: entry.value[1], insert: value };
  const neighbour = outline.get(`${table}.${after}`);
  if (!neighbour) return null;
  if (outline.isInline(table)) {
    return { from: neighbour.value[1], to: neighbour.value[1], insert: `, ${field} = ${value}` };
  }
  const end = outline.text.indexOf("\n", neighbour.value[1]);
  const at = end < 0 ? outline.text.length : end;
  return { from: at, to: at, insert: `\n${field} = ${value}` };
}

/** The change that gives a link another queue, which keeps its limit where the discipline has one. */
export function settingQueue(outline, link, kind, limit) {
  const table = `links.${link}`;
  const kindEntry = outline.get(`${table}.queue.kind`);
  const written = outline.written(`${table}.queue`);
  if (kindEntry && !written.startsWith("{")) {
    return { from: kindEntry.value[0], to: kindEntry.value[1], insert: quoted(kind) };
  }
  const value = limit ? `{ kind = ${quoted(kind)}, limit = ${quoted(limit)} }` : quoted(kind);
  return setting(outline, table, "queue", value, "delay");
}

/** The change of a queue's limit. */
export function settingLimit(outline, link, limit) {
  const table = `links.${link}.queue`;
  if (outline.get(`${table}.kind`)) return setting(outline, table, "limit", quoted(limit), "kind");
  return settingQueue(outline, link, outline.string(table) ?? "droptail", limit);
}

/** Where a flow states its congestion control. */
export function algorithmPath(outline, flow) {
  const tcp = `flows.${flow}.tcp`;
  const fields = ["external.name", "external", "congestion.name", "congestion", "variant"];
  const places = [...fields.map((field) => `${tcp}.${field}`), tcp];
  return places.find((path) => outline.string(path) !== undefined);
}

/** The field of a flow's `tcp` that an algorithm belongs to: one of the page's is outside of the registry. */
const fieldOf = (name) => (name.startsWith("library:") ? "external" : "variant");

/** The change of a flow's congestion control, or null where it is stated in a way of its own. */
export function settingAlgorithm(outline, flow, name) {
  const path = algorithmPath(outline, flow);
  const tcp = `flows.${flow}.tcp`;
  if (!path) {
    const field = fieldOf(name) === "external" ? "external" : "congestion";
    if (outline.get(tcp)) return setting(outline, tcp, field, quoted(name), "rules");
    return setting(outline, `flows.${flow}`, "tcp", quoted(name), "to");
  }
  const [from, to] = outline.get(path).value;
  const field = path.slice(tcp.length + 1).split(".")[0];
  if (!field || (field === "external") === (fieldOf(name) === "external")) return { from, to, insert: quoted(name) };
  // The other field takes the place of this one, which must be written as one value.
  const { key, value } = outline.get(`${tcp}.${field}`);
  if (key[1] > value[0]) return null;
  return { from: key[0], to: value[1], insert: `${fieldOf(name)} = ${quoted(name)}` };
}
