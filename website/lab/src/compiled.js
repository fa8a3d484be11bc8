// WebAssembly modules with the C interface, as dumbbell-library takes them. Each connection has an instance of its own.
import { EVENTS, HOOKS, PLACES, sizeOf } from "./boundary.js";

const ENTRY = "dumbbell_library";
const TABLE = "__indirect_function_table";
const VERSION = 1;
/** The head has six numbers; then pointers to parameters, probes, `start`, the events, `probe`, `copy` and `destroy`. */
const HEAD = 24;
const POINTERS = 2 + 1 + HOOKS.length + 3;
const PAGE = 1 << 16;
const MOST_MEMORY = 16 << 20;
const MOST_STATE = 1 << 20;
const MOST_NAMES = 64;
const LONGEST_TEXT = 80;

const decoder = new TextDecoder("utf-8", { fatal: true });

/** A module as an algorithm. */
export class CompiledAlgorithm {
  constructor(bytes) {
    this.module = new WebAssembly.Module(bytes);
    const [first] = WebAssembly.Module.imports(this.module);
    if (first) throw new Error(`the module imports ${first.module}.${first.name}; expected a module without imports`);
    const instance = new Instance(this.module);
    const [version, size, stateSize, flags, parameters, probes] = instance.words(instance.entry, 6);
    if (version !== VERSION) throw new Error(`the module has the ABI version ${version}; expected ${VERSION}`);
    const least = HEAD + 4 * POINTERS;
    within("size", size, least, 4096);
    within("state_size", stateSize, 0, MOST_STATE);
    within("parameter_count", parameters, 0, MOST_NAMES);
    within("probe_count", probes, 0, MOST_NAMES);
    if (instance.bytes(instance.entry + least, size - least).some((byte) => byte !== 0))
      throw new Error("the algorithm has members that are not known here");
    const [atParameters, atProbes, start, ...functions] = instance.words(instance.entry + HEAD, POINTERS);
    this.stateSize = stateSize;
    this.indices = { start, hooks: functions.slice(0, HOOKS.length), probe: functions[HOOKS.length] };
    if (probes && !this.indices.probe) throw new Error("the algorithm has probes and no function probe");
    this.statement = {
      flags,
      parameters: Array.from({ length: parameters }, (_, index) => instance.parameter(atParameters + 32 * index)),
      probes: instance.words(atProbes, probes).map((at) => instance.text(at)),
      hooks: HOOKS.filter((_, index) => this.indices.hooks[index] !== 0),
    };
    this.connection();
  }

  /** The instance of a connection, with its state and the places of arguments. */
  connection() {
    const instance = new Instance(this.module);
    instance.prepare(this.stateSize, this.indices);
    return instance;
  }

  start(view, at) {
    const instance = this.connection();
    if (instance.start) {
      instance.put(view, at, "connection", sizeOf("setup"));
      instance.put(view, at, "parameters", 8 * this.statement.parameters.length);
      instance.withWindow(view, at, () =>
        instance.start(instance.state, instance.at("connection"), instance.at("parameters"), instance.at("window")),
      );
    }
    return instance;
  }

  tell(instance, hook, view, at) {
    instance.put(view, at, "connection", sizeOf("connection"));
    const struct = EVENTS[hook];
    if (struct) instance.put(view, at, "event", sizeOf(struct));
    const places = struct ? ["connection", "event", "window"] : ["connection", "window"];
    instance.withWindow(view, at, () =>
      instance.hooks[hook](instance.state, ...places.map((place) => instance.at(place))),
    );
  }

  probe(instance, index) {
    return instance.probe(instance.state, index);
  }

  copy(instance) {
    const copy = this.connection();
    const missing = instance.memory.buffer.byteLength - copy.memory.buffer.byteLength;
    if (missing > 0) copy.memory.grow(missing / PAGE);
    new Uint8Array(copy.memory.buffer).set(new Uint8Array(instance.memory.buffer));
    return copy;
  }
}

function within(name, value, least, most) {
  if (value < least || value > most)
    throw new Error(`the algorithm has a ${name} of ${value}; expected ${least} to ${most}`);
}

class Instance {
  constructor(module) {
    const { exports } = new WebAssembly.Instance(module, {});
    for (const name of ["memory", TABLE, ENTRY])
      if (!exports[name]) throw new Error(`the module does not export ${name}`);
    [this.memory, this.table] = [exports.memory, exports[TABLE]];
    this.entry = exports[ENTRY]() >>> 0;
    if (this.entry === 0) throw new Error(`${ENTRY} returns null`);
  }

  /** Adds zeroed memory for the state and the arguments, and finds the functions. */
  prepare(stateSize, { start, hooks, probe }) {
    const pages = Math.ceil((stateSize + PLACES.text + 16) / PAGE);
    if (this.memory.buffer.byteLength + pages * PAGE > MOST_MEMORY)
      throw new Error(`the module needs more than ${MOST_MEMORY} bytes`);
    this.state = this.memory.grow(pages) * PAGE;
    this.arguments = Math.ceil((this.state + stateSize) / 16) * 16;
    const found = (index) => {
      const one = index ? this.table.get(index) : null;
      if (index && !one) throw new Error(`the table has no function at the index ${index}`);
      return one;
    };
    [this.start, this.hooks, this.probe] = [found(start), hooks.map(found), found(probe)];
  }

  at(place) {
    return this.arguments + PLACES[place];
  }

  /** Copies arguments from the buffer of the engine. */
  put(view, at, place, size) {
    new Uint8Array(this.memory.buffer, this.at(place), size).set(
      new Uint8Array(view.buffer, at + PLACES[place], size),
    );
  }

  /** Calls with the window, which may change. */
  withWindow(view, at, call) {
    const size = PLACES.answer - PLACES.window;
    this.put(view, at, "window", size);
    call();
    new Uint8Array(view.buffer, at + PLACES.window, size).set(
      new Uint8Array(this.memory.buffer, this.at("window"), size),
    );
  }

  bytes(at, length) {
    if (at + length > this.memory.buffer.byteLength) throw new Error("a pointer is outside of the memory");
    return new Uint8Array(this.memory.buffer, at, length);
  }

  words(at, count) {
    const bytes = this.bytes(at, 4 * count);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return Array.from({ length: count }, (_, index) => view.getUint32(4 * index, true));
  }

  text(at) {
    if (at === 0) throw new Error("a name or unit is null");
    const most = Math.min(LONGEST_TEXT + 1, this.memory.buffer.byteLength - at);
    const bytes = this.bytes(at, most);
    const end = bytes.indexOf(0);
    if (end < 0) throw new Error("a name or unit is too long");
    return decoder.decode(bytes.slice(0, end));
  }

  parameter(at) {
    const [name, unit] = this.words(at, 2);
    const numbers = new DataView(this.bytes(at + 8, 24).slice().buffer);
    const [initial, minimum, maximum] = [0, 8, 16].map((place) => numbers.getFloat64(place, true));
    return { name: this.text(name), unit: this.text(unit), initial, minimum, maximum };
  }
}
