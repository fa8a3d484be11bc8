// The engine's module behind functions of JavaScript. It is the same in the worker of the page and in Node.
import { Algorithms, tableFunction } from "./own.js";

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * A table as TOML, which the engine reads anyway. What is null, and a number that is not finite, is left out.
 */
export function toml(table) {
  return members(table).join("\n");
}

const isStated = (value) => value !== null && value !== undefined && (typeof value !== "number" || Number.isFinite(value));
const members = (table) =>
  Object.entries(table)
    .filter(([, value]) => isStated(value))
    .map(([key, value]) => `${key} = ${written(value)}`);

function written(value) {
  if (Array.isArray(value)) return `[${value.filter(isStated).map(written)}]`;
  if (typeof value === "object") return `{ ${members(value)} }`;
  if (typeof value === "number") return Number.isSafeInteger(value) ? String(value) : value.toExponential();
  return JSON.stringify(value).replaceAll("\x7f", "\\u007f");
}

/** The engine failed: its module is of no use any more. */
export class EngineFailure extends Error {}

export class Engine {
  /** @param {WebAssembly.Module} module the compiled module, which has no imports */
  constructor(module) {
    this.exports = new WebAssembly.Instance(module, {}).exports;
    this.exports.prepare();
    this.algorithms = null;
  }

  /** Gives the engine the function that runs own algorithms. */
  connect() {
    const { memory, __indirect_function_table: table } = this.exports;
    this.algorithms = new Algorithms(memory);
    const place = table.grow(1);
    table.set(
      place,
      tableFunction((...asked) => this.algorithms.answer(...asked)),
    );
    this.call("connect", place);
  }

  /**
   * Installs an own algorithm: a text in JavaScript, or the bytes of a module. Returns its digest and parameters, or an
   * error.
   */
  install(name, code) {
    if (!this.algorithms) this.connect();
    let added;
    try {
      added = this.algorithms.add(code);
    } catch (error) {
      return { error: { field: null, message: `${name}: ${error?.message ?? error}` } };
    }
    if (!this.write(code)) return TOO_LONG;
    this.call("code");
    if (!this.write(toml({ ...added.statement, name }))) return TOO_LONG;
    this.call("install", added.number);
    return this.answer();
  }

  /** How an own algorithm violates a property of every algorithm: `{violation}`, null if it has all. */
  conform(name) {
    this.write(name);
    this.call("conform");
    return this.answer();
  }

  /** Begins a closer look at a run; returns an error or null. `finish` and `given` tell what was seen. */
  look(run, request) {
    this.write(toml(request));
    return this.call("look", run) === 1 ? null : this.answer().error;
  }

  /** The bytes that a closer look has given. */
  given() {
    this.call("given");
    return this.bytes().slice();
  }

  /** Calls an exported function. A trap becomes an `EngineFailure` with the message of the panic. */
  call(name, ...args) {
    try {
      return this.exports[name](...args);
    } catch (error) {
      const { memory } = this.exports;
      const [at, length] = [this.exports.failure(), this.exports.failure_length()];
      const message = decoder.decode(new Uint8Array(memory.buffer, at, length));
      throw new EngineFailure(message || `the engine needs more memory than a page gives it (${error.message})`);
    }
  }

  /** Hands over a text, or bytes. Views of the memory are made anew each time, because growing replaces it. */
  write(text) {
    const bytes = typeof text === "string" ? encoder.encode(text) : text;
    const at = this.call("input", bytes.length);
    if (at === 0) return false;
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
    return true;
  }

  bytes() {
    return new Uint8Array(this.exports.memory.buffer, this.call("output"), this.call("output_length"));
  }

  answer() {
    return JSON.parse(decoder.decode(this.bytes()));
  }

  check(text) {
    if (!this.write(text)) return TOO_LONG;
    this.call("check");
    return this.answer();
  }

  /** Begins a run; returns an error or null. Seeds are 64 bits wide, so they are BigInt. */
  begin(text, seed, run, watch) {
    if (!this.write(text)) return TOO_LONG.error;
    return this.call("begin", seed, run, watch) === 1 ? null : this.answer().error;
  }

  advance(events) {
    return this.call("advance", events) === 1;
  }

  progress() {
    return this.call("progress");
  }

  cancel() {
    this.call("cancel");
  }

  finish() {
    this.call("finish");
    return this.answer();
  }

  keep(isKept) {
    this.call("keep", isKept ? 1 : 0);
  }

  /** A curve: `{times, values}` as arrays of numbers that outlive the next call. */
  curve({ what, run, index, from, until, intervals }) {
    const count = this.call(what, run, index, from, until, intervals);
    const numbers = new Float64Array(this.bytes().slice().buffer);
    return { times: numbers.slice(0, count), values: numbers.slice(count) };
  }
}

const TOO_LONG = {
  outline: [],
  error: { field: "", message: "the text is too long: at most 1048576 bytes are accepted" },
};
