// The module that `make lab` has built, for tests in Node.
import { readFileSync } from "node:fs";
import { Engine } from "../src/module.js";

export const ROOT = new URL("../../../", import.meta.url);
export const PAGE = process.env.LAB_PAGE ? new URL(`file://${process.env.LAB_PAGE}/`) : new URL("results/website/lab/", ROOT);

let made;

export const compiled = () => new WebAssembly.Module(readFileSync(new URL("engine.wasm", PAGE)));

/** One engine for tests that do not break it. */
export function engine() {
  made ??= new Engine(compiled());
  return made;
}

/** What the page knows of scenarios beside the engine. */
export const description = () => JSON.parse(readFileSync(new URL("description.json", PAGE)));
