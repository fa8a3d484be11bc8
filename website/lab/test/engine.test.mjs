// The module: no imports, the native bits, and failures as texts.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Engine } from "../src/module.js";
import { MOST, sizes } from "../sent.mjs";
import { PAGE, ROOT, compiled, engine } from "./engine.mjs";

const read = (path) => readFileSync(new URL(path, ROOT), "utf8");

/** Runs a scenario in slices and returns its results. */
function run(text, seed, number, watch = 0) {
  const error = engine().begin(text, BigInt(seed), BigInt(number), watch);
  if (error) return { error };
  for (;;) {
    while (!engine().advance(200_000));
    const results = engine().finish();
    if (!results.again) return results;
  }
}

test("a visitor loads at most 800 kB with gzip", (context) => {
  const { files, all, page } = sizes(PAGE.pathname);
  const text = files.map(([file, size]) => `${file} ${size.toFixed(1)}`).join(", ");
  assert.ok(page <= MOST.page, `${page.toFixed(1)} kB without the module: ${text}`);
  // Only a module that is made for tests has the names of its functions.
  if (WebAssembly.Module.customSections(compiled(), "name").length) context.diagnostic("the module is not that of users");
  else assert.ok(all <= MOST.all, `${all.toFixed(1)} kB: ${text}`);
});

test("the module has no imports", () => {
  assert.deepEqual(WebAssembly.Module.imports(compiled()), []);
});

const rows = read("tests/fingerprints.csv")
  .trim()
  .split("\n")
  .slice(1)
  .map((line) => line.split(","));

for (const [scenario, seed, number, fingerprint] of rows) {
  test(`${scenario}, run ${number}, has the native fingerprint`, () => {
    assert.equal(run(read(`examples/${scenario}.toml`), seed, number).fingerprint, fingerprint);
  });
}

test("what the page plots changes no fingerprint", () => {
  const [scenario, seed, number, fingerprint] = rows.find(([name]) => name === "linux-reno");
  for (const watch of [1, 2]) {
    assert.equal(run(read(`examples/${scenario}.toml`), seed, number, watch).fingerprint, fingerprint);
  }
});

test("seeds have 64 bits", () => {
  const text = read("website/lab/first.toml").replace("30 s", "1 s");
  assert.equal(run(text, "18446744073709551615", 0).seed, "18446744073709551615");
});

test("the first example fills its queue, and CoDel keeps it short", () => {
  const text = read("website/lab/first.toml");
  const delay = (results) => results.flows.rows[0][results.flows.columns.indexOf("rtt_mean_s")];
  assert.ok(delay(run(text, 1, 0)) > 0.2);
  assert.ok(delay(run(text.replace("droptail", "codel"), 1, 0)) < 0.08);
});

test("a run with too many changes for a page is sampled, with the same fingerprint", () => {
  // The scenario's own probe leaves room for half a million samples of the page.
  const probe = '[[probes]]\nflows = ["bulk"]\nquantities = ["srtt"]\nperiod = "2 us"\n';
  const text = `${read("website/lab/first.toml").replaceAll("0 Mbit/s", "000 Mbit/s").replaceAll("20 ms", "1 ms").replace("30 s", "5 s")}\n${probe}`;
  const [plain, watched] = [0, 1].map((watch) => run(text, 1, 0, watch));
  assert.deepEqual([watched.is_sampled, watched.fingerprint], [true, plain.fingerprint]);
  const ofPage = watched.traces.filter(({ quantity }) => quantity !== "srtt");
  assert.ok(ofPage.length > 0 && ofPage.every(({ samples }) => samples <= 20_001));
});

test("a run may be cancelled between slices", () => {
  assert.equal(engine().begin(read("website/lab/first.toml"), 1n, 0n, 1), null);
  assert.equal(engine().advance(1_000), false);
  assert.ok(engine().progress() > 0);
  engine().cancel();
  assert.match(engine().finish().error.message, /no run/);
});

test("a scenario that needs more memory than a page has ends with a text", () => {
  const nodes = Array.from({ length: 400 }, (_, place) => `n${place}`);
  const link = (from, to) =>
    `{ name = "${from}-${to}", from = "${from}", to = "${to}", rate = "1 Gbit/s", delay = "1 h" }`;
  const links = nodes.slice(1).flatMap((node) => [link("n0", node), link(node, "n0")]);
  const flow = `{ name = "f", count = 9000, from = "n0", to = "n1", source = { kind = "cbr", rate = "100 Gbit/s" } }`;
  const text = `duration = "2 h"\nnodes = ${JSON.stringify(nodes)}\nlinks = [${links.join(",")}]\nflows = [${flow}]\n`;
  const own = new Engine(compiled());
  let message = own.begin(text, 1n, 0n, 1)?.message;
  try {
    while (!message && !own.advance(100_000));
    message ??= own.finish().error.message;
  } catch (error) {
    message = error.message;
  }
  assert.match(message, /packets are in flight|memory/);
});

test("texts that are too long, and texts that are no scenarios, are refused", () => {
  assert.match(engine().check("#".repeat((1 << 20) + 1)).error.message, /too long/);
  assert.equal(engine().check("duration = ").error.field, "line 1");
  const error = run(read("website/lab/first.toml").replace("cubic", "cubik"), 1, 0).error;
  assert.deepEqual([error.field, error.suggestion], ["flows.bulk.tcp", "cubic"]);
});
