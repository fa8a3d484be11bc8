// What a visitor of the page loads: the files until the first picture, with the editor and what its menus and completion know.
// The rest is loaded when it is used: examples, the sandbox, the colours of the own algorithm's language, and licences.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const MODULE = "engine.wasm";
const SENT = ["index.html", "lab.css", "lab.js", "worker.js", "description.json", MODULE];

/** Most of it with gzip, in kB; and most without the module, which holds for a module that is made for tests as well. */
export const MOST = { all: 800, page: 220 };

/** The size of each file with gzip and of all, in kB, those of the page apart. */
export function sizes(folder) {
  const files = SENT.map((file) => [file, gzipSync(readFileSync(join(folder, file)), { level: 9 }).length / 1000]);
  const sum = (some) => some.reduce((total, [, size]) => total + size, 0);
  return { files, all: sum(files), page: sum(files.filter(([file]) => file !== MODULE)) };
}
