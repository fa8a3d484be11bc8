// Own algorithms: classes in JavaScript, and WebAssembly modules with the C interface. The engine asks for everything through
// one function; what fails is a text and never an exception of the engine.
import { EVENTS, HOOKS, OPERATIONS, PLACES, readInto } from "./boundary.js";
import { CompiledAlgorithm } from "./compiled.js";

const encoder = new TextEncoder();

/** The base of own algorithms, as `dumbbell.Control` in Python. */
export class Control {
  static probes = [];
  static rate_samples = false;
  static model_based = false;
  static reacts_to_marks = false;

  start(_setup) {}

  on_recovery_exit(exit) {
    this.cwnd += exit.kept_inflation;
  }

  on_undo(undo) {
    this.cwnd = Math.max(this.cwnd, undo.cwnd);
    this.ssthresh = Math.max(this.ssthresh, undo.ssthresh);
  }

  on_restart(_restart) {
    this.cwnd = Math.min(this.cwnd, this.setup.initial_window);
  }

  /** An independent copy. */
  fork() {
    return Object.assign(Object.create(Object.getPrototypeOf(this)), structuredClone({ ...this }));
  }
}

/** The connection at an event, with the fields of the event. */
class Event {
  /** A window after its growth within the limit of the connection. */
  grown(cwnd, growth) {
    return cwnd < this.growth_limit ? Math.min(cwnd + growth, this.growth_limit) : cwnd;
  }
}

/** Names that the result of a run must not depend on, and what a sandbox does not have anyway. */
const HIDDEN = ["self", "globalThis", "postMessage", "fetch", "importScripts", "Date", "performance", "Worker"];

/** The last class of a program that extends `Control`, or an error that says what is missing. */
export function classOf(code) {
  const names = [...code.matchAll(/^[ \t]*class\s+([A-Za-z_$][\w$]*)\s+extends\s+Control\b/gm)].map((found) => found[1]);
  if (!names.length) throw new Error('there is no class; expected "class NAME extends Control { … }"');
  const random = () => {
    throw new Error("Math.random is not reproducible; derive random numbers from setup.seed");
  };
  const math = Object.create(Math, { random: { value: random } });
  const body = `"use strict";\n${code}\nreturn ${names.at(-1)};`;
  return new Function("Control", "Math", ...HIDDEN, body)(Control, math);
}

/** A class in JavaScript as an algorithm. */
class WrittenAlgorithm {
  constructor(code) {
    this.made = classOf(code);
    const defaults = new this.made();
    const numbers = Object.entries(defaults).filter(([, value]) => typeof value === "number");
    this.names = numbers.map(([name]) => name);
    const { rate_samples: rates, model_based: isModel, reacts_to_marks: reacts, probes } = this.made;
    this.probes = [...probes];
    this.statement = {
      flags: (rates ? 1 : 0) + (isModel ? 2 : 0) + (reacts ? 4 : 0),
      parameters: numbers.map(([name, initial]) => ({ name, unit: "-", initial })),
      probes: this.probes,
      hooks: HOOKS.filter((hook) => typeof defaults[hook] === "function"),
    };
  }

  start(view, at) {
    const object = new this.made();
    this.names.forEach((name, place) => (object[name] = view.getFloat64(at + PLACES.parameters + 8 * place, true)));
    object.setup = Object.freeze(readInto({}, "setup", view, at + PLACES.connection));
    object.pacing_rate = null;
    readWindow(object, view, at);
    object.start(object.setup);
    writeWindow(object, view, at);
    return object;
  }

  tell(object, hook, view, at) {
    const event = readInto(new Event(), "connection", view, at + PLACES.connection);
    const struct = EVENTS[hook];
    if (struct) readInto(event, struct, view, at + PLACES.event);
    readWindow(object, view, at);
    object[HOOKS[hook]](event);
    writeWindow(object, view, at);
  }

  probe(object, index) {
    const value = object[this.probes[index]];
    if (value === null || value === undefined) return NaN;
    if (typeof value !== "number") throw new Error(`is ${typeof value}, not a number`);
    return value;
  }

  copy(object) {
    return object.fork();
  }
}

function readWindow(object, view, at) {
  object.cwnd = view.getFloat64(at + PLACES.window, true);
  object.ssthresh = view.getFloat64(at + PLACES.window + 8, true);
}

/** The engine judges numbers; what is none is not a number to it. */
function writeWindow({ cwnd, ssthresh, pacing_rate: rate }, view, at) {
  const number = (value) => (typeof value === "number" ? value : NaN);
  view.setFloat64(at + PLACES.window, number(cwnd), true);
  view.setFloat64(at + PLACES.window + 8, number(ssthresh), true);
  view.setFloat64(at + PLACES.window + 16, rate === null || rate === undefined ? 0 : number(rate) || NaN, true);
}

/** The algorithms of an engine, and the states of their connections. */
export class Algorithms {
  /** `memory` is that of the engine. */
  constructor(memory) {
    this.memory = memory;
    this.known = [];
    this.states = new Map();
    this.next = 1;
  }

  /** Reads code: a text in JavaScript, or the bytes of a module. Returns its number and what it states. */
  add(code) {
    const made = typeof code === "string" ? new WrittenAlgorithm(code) : new CompiledAlgorithm(code);
    this.known.push(made);
    return { number: this.known.length - 1, statement: made.statement };
  }

  /** The buffer is at an address that stays, but growing replaces the memory. */
  view() {
    if (this.cached?.buffer !== this.memory.buffer) this.cached = new DataView(this.memory.buffer);
    return this.cached;
  }

  /** Does what the engine asks for. Returns the length of the text of a failure, or 0. */
  answer(operation, number, state, at) {
    const view = this.view();
    try {
      this.act(operation, this.known[number], state, view, at);
      return 0;
    } catch (error) {
      const text = `fails: ${error?.message ?? error}`;
      const target = new Uint8Array(this.memory.buffer, at + PLACES.text, PLACES.end - PLACES.text);
      return encoder.encodeInto(text, target).written;
    }
  }

  act(operation, algorithm, state, view, at) {
    const held = this.states.get(state);
    if (operation < HOOKS.length) algorithm.tell(held, operation, view, at);
    else if (operation === OPERATIONS.start) this.keep(algorithm.start(view, at), view, at);
    else if (operation === OPERATIONS.copy) this.keep(algorithm.copy(held), view, at);
    else if (operation === OPERATIONS.release) this.states.delete(state);
    else {
      const value = algorithm.probe(held, view.getUint32(at + PLACES.event, true));
      view.setFloat64(at + PLACES.answer, value, true);
    }
  }

  keep(state, view, at) {
    this.states.set(this.next, state);
    view.setFloat64(at + PLACES.answer, this.next, true);
    this.next += 1;
  }
}

/**
 * A function of JavaScript as one that a table of a module can hold: only functions of modules can be there, so this is a
 * module that has nothing but that function, imported and exported again.
 */
export function tableFunction(act) {
  const text = (name) => [name.length, ...encoder.encode(name)];
  const section = (kind, bytes) => [kind, bytes.length, ...bytes];
  const bytes = Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f]),
    ...section(2, [1, ...text("page"), ...text("act"), 0, 0]),
    ...section(7, [1, ...text("act"), 0, 0]),
  ]);
  return new WebAssembly.Instance(new WebAssembly.Module(bytes), { page: { act } }).exports.act;
}
