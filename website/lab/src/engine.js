// The page's side of the worker: requests with numbers, and their answers as promises. Own algorithms run in a worker of a
// sandbox, a frame of another origin without network; code that does not return ends with its frame.

/** The engine or its worker failed; the message says why. */
export class Failure extends Error {}

/** The run was replaced or cancelled. */
export class Cancelled extends Error {}

/** A scenario was refused: `refusal` has the field, the value and what is accepted. */
export class Refused extends Error {
  constructor(refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** How long own code may keep its worker from answering, in ms; a check is one call. */
const PATIENCE = { conform: 30_000 };
const PATIENCE_OF_OTHERS = 3_000;
/** How long own code may keep the worker from being cancelled, in ms. */
const PATIENCE_OF_CANCEL = 50;

let worker = null;
let number = 0;
/** Own algorithms: `{name, code}`. */
let own = [];
let watchdog;
const open = new Map();

/** A worker beside the page. */
function plain() {
  const made = new Worker(new URL("worker.js", document.baseURI), { type: "module" });
  made.onmessage = ({ data }) => settle(data);
  made.onerror = (event) => rejectAll(new Failure(event.message || "the worker could not be started"));
  return { isOwn: false, post: (message) => made.postMessage(message), end: () => made.terminate() };
}

/** A file beside the page. */
export async function fetched(name) {
  const response = await fetch(new URL(name, document.baseURI));
  if (!response.ok) throw new Failure(`${name}: ${response.status} ${response.statusText}`);
  return response;
}

/** A worker in a frame of its own origin. Messages wait until it is there. */
function sandboxed() {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.hidden = true;
  frame.title = "Sandbox of the own algorithm";
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = ({ data }) => settle(data);
  const loaded = new Promise((resolve) => (frame.onload = resolve));
  frame.src = new URL("sandbox.html", document.baseURI);
  document.body.append(frame);
  const parts = [fetched("worker.js").then((one) => one.text()), fetched("engine.wasm").then((one) => one.arrayBuffer())];
  Promise.all([loaded, ...parts]).then(
    ([, source, module]) => frame.contentWindow?.postMessage({ source, module }, "*", [port2, module]),
    (error) => rejectAll(error),
  );
  return {
    isOwn: true,
    post: (message) => port1.postMessage(message),
    end() {
      port1.close();
      frame.remove();
    },
  };
}

function rejectAll(error) {
  clearTimeout(watchdog);
  const waiting = [...open.values()];
  open.clear();
  for (const { reject } of waiting) reject(error);
}

/** Ends the worker with all that it has; the next request begins another one. */
function end(error) {
  worker?.end();
  worker = null;
  rejectAll(error);
}

/** Ends own code that keeps its worker from answering. */
function watch() {
  clearTimeout(watchdog);
  if (!worker?.isOwn || !open.size) return;
  const longest = Math.max(...[...open.values()].map(({ kind }) => PATIENCE[kind] ?? PATIENCE_OF_OTHERS));
  const text = `the own algorithm did not return within ${longest / 1000} s and was stopped`;
  watchdog = setTimeout(() => end(new Failure(text)), longest);
}

function settle({ id, progress, failure, error, cancelled, ...rest }) {
  const request = open.get(id);
  if (request && progress !== undefined) {
    request.onProgress?.(progress);
  } else if (request) {
    open.delete(id);
    if (failure !== undefined) request.reject(new Failure(failure));
    else if (cancelled) request.reject(new Cancelled("cancelled"));
    else if (error) request.reject(new Refused(error));
    else request.resolve(rest);
  }
  watch();
}

function send(kind, message, onProgress) {
  number += 1;
  const id = number;
  return new Promise((resolve, reject) => {
    open.set(id, { kind, resolve, reject, onProgress });
    worker.post({ id, kind, ...message });
    watch();
  });
}

/** Starts the worker, which loads the engine, unless there is one. */
export function start() {
  if (worker) return;
  worker = own.length ? sandboxed() : plain();
  // What is wrong with the code is said when it is checked or run.
  for (const one of own) send("install", one).catch(() => {});
}

/** Sends a request; `onProgress` is told the share that is done. */
export function ask(kind, message = {}, onProgress) {
  start();
  return send(kind, message, onProgress);
}

/** Cancels the run in progress. Own code that is in the way is stopped. */
export async function cancel() {
  if (!worker) return;
  const late = worker.isOwn
    ? setTimeout(() => end(new Cancelled("cancelled")), PATIENCE_OF_CANCEL)
    : undefined;
  await ask("cancel").catch(() => {});
  clearTimeout(late);
}

/**
 * Replaces the own algorithms: `{name, code}`, the code a text or bytes. Results that were kept are lost. Returns what the
 * engine knows of them, or throws what is wrong.
 */
export async function replaceOwn(algorithms) {
  end(new Cancelled("cancelled"));
  own = [];
  const known = [];
  const wanted = algorithms;
  if (wanted.length) worker = sandboxed();
  for (const one of wanted) known.push((await send("install", one)).installed);
  own = wanted;
  return known;
}
