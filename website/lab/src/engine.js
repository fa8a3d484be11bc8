// The page's side of the worker: requests with numbers, and their answers as promises.

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

let worker;
let number = 0;
const open = new Map();

function start() {
  worker = new Worker(new URL("worker.js", document.baseURI), { type: "module" });
  worker.onmessage = ({ data }) => settle(data);
  worker.onerror = (event) => {
    for (const { reject } of open.values()) reject(new Failure(event.message || "the worker could not be started"));
    open.clear();
  };
}

function settle({ id, progress, failure, error, cancelled, ...rest }) {
  const request = open.get(id);
  if (!request) return;
  if (progress !== undefined) {
    request.onProgress?.(progress);
    return;
  }
  open.delete(id);
  if (failure !== undefined) request.reject(new Failure(failure));
  else if (cancelled) request.reject(new Cancelled("cancelled"));
  else if (error) request.reject(new Refused(error));
  else request.resolve(rest);
}

/** Sends a request; `onProgress` is told the share that is done. */
export function ask(kind, message = {}, onProgress) {
  if (!worker) start();
  number += 1;
  const id = number;
  return new Promise((resolve, reject) => {
    open.set(id, { resolve, reject, onProgress });
    worker.postMessage({ id, kind, ...message });
  });
}
