// Runs the engine away from the page, in slices, so that messages are read between them. With own algorithms it is in a
// sandbox, which has no network: there the page hands over the module and a port.
import { Engine, EngineFailure } from "./module.js";

/** How long a slice may take, in ms. */
const SLICE = 15;
const FEWEST_EVENTS = 2_000;
const MOST_EVENTS = 50_000_000;

let compiled;
let engine;
/** The run in progress: its request, when it began, and the events of its next slice. */
let current = null;

const yielding = new MessageChannel();
yielding.port1.onmessage = () => slice();

/** Where answers go. */
let channel = self;

function post(id, message, transfer = []) {
  channel.postMessage({ id, ...message }, transfer);
}

/** Loads the module beside the worker. A server may call it something else than `application/wasm`. */
async function load() {
  const response = await fetch(new URL("engine.wasm", self.location.href));
  if (!response.ok) throw new Error(`engine.wasm: ${response.status} ${response.statusText}`);
  compiled = await WebAssembly.compile(await response.arrayBuffer());
  engine = new Engine(compiled);
}

const isSandboxed = self.location.protocol === "blob:";
const ready = isSandboxed ? handedOver() : load();

/** Takes the module and the port, which come with the first message. */
async function handedOver() {
  const { data, ports } = await new Promise((resolve) => (self.onmessage = resolve));
  channel = ports[0];
  channel.onmessage = receive;
  engine = new Engine((compiled = await WebAssembly.compile(data)));
}

/** A failed module is replaced; what it kept is lost. */
function fail(id, error) {
  if (error instanceof EngineFailure) {
    current = null;
    engine = new Engine(compiled);
    post(id, { failure: error.message });
  } else {
    post(id, { failure: String(error.message ?? error) });
  }
}

function slice() {
  if (!current) return;
  const { id } = current;
  try {
    const before = performance.now();
    let isOver = engine.advance(current.events);
    const took = performance.now() - before;
    current.spent += took;
    const factor = Math.min(4, Math.max(0.25, SLICE / Math.max(took, 0.1)));
    current.events = Math.round(Math.min(MOST_EVENTS, Math.max(FEWEST_EVENTS, current.events * factor)));
    if (!isOver) {
      post(id, { progress: engine.progress() });
      yielding.port2.postMessage(0);
      return;
    }
    const finishing = performance.now();
    const results = engine.finish();
    current.spent += performance.now() - finishing;
    if (results.again) {
      yielding.port2.postMessage(0);
      return;
    }
    const { spent, isLook } = current;
    current = null;
    if (results.error) post(id, { error: results.error });
    else if (!isLook) post(id, { results, spent });
    else {
      const given = engine.given();
      post(id, { results, given }, [given.buffer]);
    }
  } catch (error) {
    fail(id, error);
  }
}

function cancel() {
  if (!current) return;
  post(current.id, { cancelled: true });
  current = null;
  engine.cancel();
}

function answer(id, name, given) {
  post(id, given.error ? { error: given.error } : { [name]: given });
}

const requests = {
  check: (id, { text }) => post(id, { checked: engine.check(text) }),
  run(id, { text, seed, run, watch }) {
    cancel();
    const error = engine.begin(text, BigInt(seed), BigInt(run), watch);
    if (error) {
      post(id, { error });
      return;
    }
    current = { id, spent: 0, events: FEWEST_EVENTS };
    slice();
  },
  look(id, { run, request }) {
    cancel();
    const error = engine.look(run, request);
    if (error) {
      post(id, { error });
      return;
    }
    current = { id, spent: 0, events: FEWEST_EVENTS, isLook: true };
    slice();
  },
  install: (id, { name, code }) => answer(id, "installed", engine.install(name, code)),
  conform: (id, { name }) => answer(id, "found", engine.conform(name)),
  cancel(id) {
    cancel();
    post(id, { done: true });
  },
  keep(id, { isKept }) {
    engine.keep(isKept);
    post(id, { done: true });
  },
  curves(id, { wanted }) {
    const curves = wanted.map((one) => engine.curve(one));
    post(
      id,
      { curves },
      curves.flatMap((curve) => [curve.times.buffer, curve.values.buffer]),
    );
  },
};

async function receive({ data: { id, kind, ...rest } }) {
  try {
    await ready;
    requests[kind](id, rest);
  } catch (error) {
    fail(id, error);
  }
}

if (!isSandboxed) self.onmessage = receive;
