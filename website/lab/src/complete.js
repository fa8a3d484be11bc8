// Completion from the schema: the table at the cursor, its fields, and the values of a field.

const KEY = /^\s*([A-Za-z0-9_-]+|"[^"]*")\s*=\s*/;

/**
 * The path of tables around a position and what is written there: `{path, key, prefix, from}`. `key` is the field whose
 * value the position is in. The text may be incomplete, so it is scanned, not parsed.
 */
export function contextAt(text, position) {
  const before = text.slice(0, position);
  const lines = before.split("\n");
  let header = [];
  let first = 0;
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    const found = /^\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(#.*)?$/.exec(lines[index]);
    if (found && index < lines.length - 1) {
      header = found[1].split(".").map((step) => step.trim().replace(/^"|"$/g, ""));
      first = index + 1;
      break;
    }
  }
  const body = lines.slice(first).join("\n");
  return { ...scanned(body, header), header: headerAt(lines.at(-1)) };
}

/** The path that is being written in the brackets of a header, or null. */
function headerAt(line) {
  const found = /^\s*(\[\[?)\s*([A-Za-z0-9_.-]*)$/.exec(line);
  return found && { isList: found[1] === "[[", prefix: found[2] };
}

function scanned(body, header) {
  const stack = [];
  let key = null;
  let at = 0;
  let token = 0;
  while (at < body.length) {
    const rest = body.slice(at);
    const one = body[at];
    const field = KEY.exec(rest);
    const comment = /^#[^\n]*/.exec(rest);
    const string = /^"(?:[^"\\\n]|\\.)*"|^'[^'\n]*'/.exec(rest);
    if (key === null && field && (at === 0 || /[\s{,]/.test(body[at - 1]))) {
      key = field[1].replace(/^"|"$/g, "");
      at += field[0].length;
      token = at;
    } else if (comment) {
      at += comment[0].length;
    } else if (string) {
      at += string[0].length;
    } else if (one === "{" || one === "[") {
      stack.push({ key, isTable: one === "{" });
      if (one === "{") key = null;
      at += 1;
      token = at;
    } else if (one === "}" || one === "]") {
      key = stack.pop()?.key ?? null;
      at += 1;
    } else if (one === ",") {
      if (stack.at(-1)?.isTable) key = null;
      at += 1;
      token = at;
    } else if (one === "\n" && stack.length === 0) {
      key = null;
      at += 1;
      token = at;
    } else {
      at += 1;
    }
  }
  const inner = stack
    .filter((open) => open.isTable)
    .map((open) => open.key)
    .filter((open) => open !== null);
  const written = body.slice(token);
  return {
    path: [...header, ...inner],
    key,
    prefix: /[^\s,{["']*$/.exec(written)[0],
    isQuoted: /["'][^"']*$/.test(written),
  };
}

/** The schemas that a schema stands for: its alternatives, and the elements of lists. */
function alternatives(schema) {
  if (!schema) return [];
  if (schema.anyOf) return schema.anyOf.flatMap(alternatives);
  if (schema.type === "array") return alternatives(schema.items);
  return [schema];
}

/** The schema with the definitions that it refers to in their places. */
export function withDefinitions(schema) {
  const written = (node) => {
    if (Array.isArray(node)) return node.map(written);
    if (node === null || typeof node !== "object") return node;
    const { $ref: reference, ...rest } = node;
    const found = reference ? schema.$defs[reference.replace("#/$defs/", "")] : {};
    return { ...found, ...Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, written(value)])) };
  };
  return written(schema);
}

/** The schemas of the tables at a path. */
export function tablesAt(schema, path) {
  const inside = (tables, step) => tables.flatMap((table) => alternatives(table.properties?.[step]));
  return path.reduce(inside, alternatives(schema)).filter((table) => table.properties);
}

/** Tables whose tag (`kind`, `name`) is what the text around the cursor states, if it states one. */
function fitting(tables, text) {
  const tag = (table) => Object.entries(table.properties).find(([, of]) => of.const !== undefined);
  const states = (table) => {
    const found = tag(table);
    return found && new RegExp(`\\b${found[0]}\\s*=\\s*["']${found[1].const}["']`).test(text);
  };
  const chosen = tables.filter(states);
  return chosen.length ? chosen : tables;
}

function fieldOptions(tables) {
  const options = new Map();
  for (const table of tables) {
    for (const [name, of] of Object.entries(table.properties)) {
      const detail = of.default === undefined || of.default === null ? "" : `= ${JSON.stringify(of.default)}`;
      options.set(name, { label: name, type: "property", apply: `${name} = `, detail, info: of.description });
    }
  }
  return [...options.values()];
}

function valueOptions(tables, key, isQuoted, names) {
  const options = new Map();
  const add = (label, info) => {
    const isText = typeof label === "string";
    const apply = isText && !isQuoted ? JSON.stringify(label) : String(label);
    options.set(String(label), { label: String(label), type: "enum", apply, info });
  };
  for (const schema of tables.flatMap((table) => alternatives(table.properties[key]))) {
    schema.enum?.forEach((value) => add(value));
    if (schema.const !== undefined) add(schema.const);
    if (schema.type === "boolean") [true, false].forEach((value) => add(value));
    if (schema["x-quantity"] && schema.default) add(schema.default);
  }
  names(key).forEach((name) => add(name, "of this scenario"));
  return [...options.values()];
}

/** Names of the scenario that a field refers to. */
function namesFor(network) {
  const names = (list) => (list ?? []).map((one) => one.name);
  return (key) => {
    if (!network) return [];
    if (key === "from" || key === "to") return network.nodes;
    if (key === "path" || key === "reverse_path" || key === "links") return names(network.links);
    if (key === "flows" || key === "stop_when_complete") return names(network.flows);
    return [];
  };
}

/** Options at a position: `{from, options}`, or null. */
export function completions(schema, network, text, position) {
  const { path, key, prefix, isQuoted, header } = contextAt(text, position);
  const from = position - prefix.length;
  if (header) {
    const parts = Object.entries(schema.properties);
    const lists = parts.filter(([, of]) => of.type === "array" && tablesAt(of, []).length);
    const options = lists.map(([name, of]) => ({ label: name, type: "namespace", info: of.description }));
    return { from: position - header.prefix.length, options };
  }
  // Only what is around the cursor tells the kind of a table.
  const around = text.slice(Math.max(0, position - 400), position + 200);
  const brace = path.length ? around.slice(around.lastIndexOf("{", Math.min(400, position))) : around;
  const tables = fitting(tablesAt(schema, path), brace);
  const options = key === null ? fieldOptions(tables) : valueOptions(tables, key, isQuoted, namesFor(network));
  return options.length ? { from, options } : null;
}

/** What the schema says of the field at a path of positions, such as `links.0.rate`: its description, or undefined. */
export function described(schema, position) {
  const steps = position.split(".").filter((step) => !/^[0-9]+$/.test(step));
  const key = steps.pop();
  return tablesAt(schema, steps)
    .map((table) => table.properties[key])
    .find((of) => of?.description);
}
