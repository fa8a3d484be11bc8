// Builds the page: `node build.mjs MODULE DESCRIBE FOLDER` bundles it with the engine's module into a folder, and with what
// the program `dumbbell-describe` prints. With `--optimize`, the module is made smaller and faster before, which takes a
// minute.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";
import { sizes } from "./sent.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, "../..");
const ALLOWED = ["MIT", "Apache-2.0", "ISC", "BSD-2-Clause", "BSD-3-Clause"];

const isOptimized = process.argv.includes("--optimize");
const [engine, describe, folder] = process.argv.slice(2).filter((one) => !one.startsWith("--"));
if (!folder) throw new Error("usage: node build.mjs [--optimize] MODULE DESCRIBE FOLDER");
const read = (...path) => readFileSync(join(...path), "utf8");

/** The scenarios of examples/ that the engine runs without other programs, with their titles. */
function examples() {
  const files = readdirSync(join(ROOT, "examples")).filter((file) => file.endsWith(".toml"));
  return files.sort().map((file) => {
    const title = /^name = "(.*)"$/m.exec(read(ROOT, "examples", file));
    return [file.replace(/\.toml$/, ""), title ? title[1] : file];
  });
}

/** The licence of a package of the bundle with its text; a licence that is not allowed ends the build. */
function notice(name) {
  const place = join(HERE, "node_modules", name);
  const { version, license } = JSON.parse(read(place, "package.json"));
  if (!ALLOWED.includes(license)) throw new Error(`${name} ${version}: the licence ${license} is not allowed`);
  const file = readdirSync(place).find((one) => /^licen[cs]e/i.test(one));
  if (!file) throw new Error(`${name} ${version} has no text of its licence`);
  return `${name} ${version}, ${license}\n\n${read(place, file).trim()}\n`;
}

/** Names, versions and licences of the crates in the module. */
function crates() {
  const options = ["--package", "dumbbell-web", "--target", "wasm32-unknown-unknown", "--edges", "normal"];
  const format = ["--prefix", "none", "--format", "{p}: {l}", "--locked"];
  const lines = execFileSync("cargo", ["tree", ...options, ...format], { cwd: ROOT, encoding: "utf8" }).split("\n");
  const others = lines.map((line) => line.replace(" (*)", "")).filter((line) => line && !line.startsWith("dumbbell-"));
  return [...new Set(others)].sort();
}

function notices(metafile) {
  const names = Object.keys(metafile.inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]);
  const packages = [...new Set(names.filter(Boolean))].sort();
  const head = "Dumbbell is licensed under Apache-2.0. The page contains these packages:\n";
  const engine = `The engine contains these crates of Rust:\n\n${crates().join("\n")}\n`;
  return [head, ...packages.map(notice), engine].join(`\n${"-".repeat(80)}\n\n`);
}

async function bundle() {
  const options = {
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    metafile: true,
  };
  // What the page imports when it is used is a file of its own.
  const built = await esbuild.build({
    ...options,
    entryPoints: { lab: join(HERE, "src/main.js"), worker: join(HERE, "src/worker.js") },
    outdir: folder,
    absWorkingDir: HERE,
    splitting: true,
    chunkNames: "[name]",
  });
  const style = read(HERE, "node_modules/uplot/dist/uPlot.min.css") + read(HERE, "lab.css");
  const { code } = await esbuild.transform(style, { loader: "css", minify: true });
  writeFileSync(join(folder, "lab.css"), code);
  writeFileSync(join(folder, "notices.txt"), notices(built.metafile));
}

function page() {
  const first = { text: read(HERE, "first.toml"), examples: examples() };
  const data = JSON.stringify(first).replaceAll("<", "\\u003c");
  writeFileSync(
    join(folder, "index.html"),
    read(HERE, "index.html").replace("FIRST", () => data),
  );
  mkdirSync(join(folder, "examples"), { recursive: true });
  for (const [file] of first.examples)
    cpSync(join(ROOT, "examples", `${file}.toml`), join(folder, "examples", `${file}.toml`));
}

/** The page of the sandbox, whose policy allows its one script. */
async function sandbox() {
  const { code } = await esbuild.transform(read(HERE, "src/sandbox.js"), { minify: true });
  const script = code.trim();
  const hash = `sha256-${createHash("sha256").update(script).digest("base64")}`;
  const page = read(HERE, "sandbox.html").replace("HASH", hash);
  writeFileSync(
    join(folder, "sandbox.html"),
    page.replace("SCRIPT", () => script),
  );
}

/** The features of WebAssembly that the compiler uses by default; every browser has had them since 2022. */
const FEATURES = [
  "bulk-memory",
  "sign-ext",
  "nontrapping-float-to-int",
  "mutable-globals",
  "multivalue",
  "reference-types",
].map((name) => `--enable-${name}`);

/** Copies the module, and refuses one that would need something of the page. */
function copyModule() {
  const target = join(folder, "engine.wasm");
  if (isOptimized) {
    const optimizer = join(HERE, "node_modules/.bin/wasm-opt");
    // No option may change arithmetic: results have the native bits.
    execFileSync(optimizer, ["-O3", "--strip-debug", "--strip-producers", ...FEATURES, engine, "-o", target]);
  } else {
    cpSync(engine, target);
  }
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(readFileSync(target)));
  if (imports.length) throw new Error(`the module has imports: ${JSON.stringify(imports)}`);
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
await bundle();
page();
await sandbox();
copyModule();
writeFileSync(join(folder, "description.json"), execFileSync(describe, { maxBuffer: 1 << 24 }));
const { files, all } = sizes(folder);
const parts = files.map(([file, size]) => `${file} ${Math.round(size)}`);
console.log(`lab: ${Math.round(all)} kB with gzip (${parts.join(", ")})`);
