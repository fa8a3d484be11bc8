// Compares random scenarios with their native results, which `native.py` prints: fingerprint, tables, and every bit of every
// trace. Prints how many are equal; the exit code is 1 if one differs.
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { Engine, EngineFailure } from "../src/module.js";
import { compiled } from "./engine.mjs";

const WHOLE = { what: "trace", run: 0, from: 0, until: Number.MAX_VALUE, intervals: 0 };

let engine = new Engine(compiled());

function run({ toml, seed, run: number }) {
  const error = engine.begin(toml, BigInt(seed), BigInt(number), 0);
  if (error) return { error };
  while (!engine.advance(100_000));
  return engine.finish();
}

function differingRow(name, { columns, rows }, native) {
  if (rows.length !== native.length) return `${rows.length} ${name} instead of ${native.length}`;
  for (const [row, values] of rows.entries()) {
    for (const [place, column] of columns.entries()) {
      const [here, there] = [values[place], native[row][column]];
      if (there === undefined || !Object.is(here, there)) return `${name}.${row}.${column}: ${here} instead of ${there}`;
    }
  }
  return null;
}

function differingTrace(traces, native) {
  const hashes = new Map();
  const order = new Map();
  traces.forEach(({ name, quantity, has_rows: hasRows, samples }, index) => {
    if (hasRows || samples === 0) return;
    const key = `${name} ${quantity}`;
    order.set(key, [...(order.get(key) ?? []), engine.curve({ ...WHOLE, index })]);
  });
  for (const [key, curves] of order) {
    const hash = createHash("sha256");
    for (const part of ["times", "values"]) for (const curve of curves) hash.update(new Uint8Array(curve[part].buffer));
    hashes.set(key, hash.digest("hex"));
  }
  const keys = new Set([...hashes.keys(), ...Object.keys(native)]);
  const key = [...keys].find((one) => hashes.get(one) !== native[one]);
  return key === undefined ? null : `the trace ${key}`;
}

/** What differs, as a text, or null. */
function difference(native) {
  const results = run(native);
  if (results.error) return results.error.message;
  if (results.fingerprint !== native.fingerprint) return `fingerprint ${results.fingerprint}`;
  return (
    differingRow("flows", results.flows, native.flows) ??
    differingRow("links", results.links, native.links) ??
    differingTrace(results.traces, native.traces)
  );
}

const counts = { equal: 0, skipped: 0, different: 0 };
let traces = 0;
let place = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const native = JSON.parse(line);
  let found = null;
  if (!native.skipped) {
    try {
      found = difference(native);
      traces += Object.keys(native.traces).length;
    } catch (error) {
      if (!(error instanceof EngineFailure)) throw error;
      found = error.message;
      engine = new Engine(compiled());
    }
  }
  counts[native.skipped ? "skipped" : found ? "different" : "equal"] += 1;
  if (found) console.log(`scenario ${place}: ${found}`);
  place += 1;
}
console.log(
  `lab-random: ${counts.equal} equal with ${traces} traces, ${counts.different} different, ${counts.skipped} need more than the engine`,
);
process.exitCode = counts.different || !counts.equal ? 1 : 0;
