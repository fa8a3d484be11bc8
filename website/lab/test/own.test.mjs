// Own algorithms: the bits of registered ones, the properties of every algorithm, and failures as sentences.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import binaryen from "binaryen";
import { Engine } from "../src/module.js";
import { EXAMPLE } from "../src/ownpanel.js";
import { lines } from "../src/explain.js";
import { journeys } from "../src/film.js";
import { ROOT, compiled } from "./engine.mjs";

// The mechanisms that other rules add to registered algorithms are not those of own ones.
const FIRST = readFileSync(new URL("website/lab/first.toml", ROOT), "utf8")
  .replace("30 s", "8 s")
  .replace("duration", 'rules = "classic"\nduration');
const named = (tcp) => FIRST.replace('tcp = "cubic"', `tcp = ${tcp}`);

function run(engine, text, watch = 0) {
  const error = engine.begin(text, 1n, 0n, watch);
  if (error) return { error };
  while (!engine.advance(20_000));
  return engine.finish();
}

/** Looks at the last run, and returns what is told and given. */
function looked(engine, request) {
  assert.equal(engine.look(0, request), null);
  while (!engine.advance(20_000));
  return { told: engine.finish(), given: engine.given() };
}

function installed(code, name = "own.js") {
  const engine = new Engine(compiled());
  const known = engine.install(name, code);
  return { engine, known };
}

test("15 lines of additive increase have the bits of the registered algorithm", () => {
  const { engine, known } = installed(EXAMPLE);
  assert.deepEqual(known.parameters, { decrease: 0.5, increase: 1 });
  const pairs = [
    ['"library:own.js"', '{ congestion = { name = "aimd" } }'],
    [
      '{ external = { name = "library:own.js", parameters = { decrease = 0.7 } } }',
      '{ congestion = { name = "aimd", decrease = 0.7 } }',
    ],
  ];
  const prints = pairs.map((pair) => pair.map((tcp) => run(engine, named(tcp), 1).fingerprint));
  for (const [own, registered] of prints) assert.equal(own, registered);
  assert.notEqual(prints[0][0], prints[1][0]);
  assert.equal(engine.conform("own.js").violation, null);
});

test("a WebAssembly module has the bits of the registered algorithm", () => {
  const bytes = aimdModule();
  const { engine, known } = installed(bytes, "aimd.wasm");
  assert.deepEqual(known.parameters, { decrease: 0.5, increase: 1 });
  const [own, registered] = ['"library:aimd.wasm"', '{ congestion = "aimd" }'].map((tcp) => run(engine, named(tcp)));
  assert.equal(own.fingerprint, registered.fingerprint);
  assert.equal(engine.conform("aimd.wasm").violation, null);
});

const broken = [
  ["no class", "const a = 1;", /there is no class/],
  ["a syntax error", "class A extends Control { on_ack( }", /own\.js/],
  ["no on_congestion", "class A extends Control { on_ack() {} }", /no on_congestion/],
];
for (const [what, code, pattern] of broken) {
  test(`code with ${what} is refused`, () => assert.match(installed(code).known.error.message, pattern));
}

/** An algorithm with another method. */
const changed = (body) => EXAMPLE.replace("if (ack.in_recovery) return;", body);

const failing = [
  ["an exception", 'throw new Error("no idea");', /own\.js: on_ack fails: no idea \(flow "bulk", .* s\)/],
  ["no number", 'this.cwnd = "ten"; return;', /sets cwnd to NaN/],
  ["infinity", "this.cwnd = Infinity; return;", /sets cwnd to inf/],
  ["recursion", "this.on_ack(ack);", /call stack/],
  ["random numbers", "this.cwnd += Math.random(); return;", /not reproducible/],
];
for (const [what, body, pattern] of failing) {
  test(`a run whose algorithm answers with ${what} ends with a sentence`, () => {
    const { engine } = installed(changed(body));
    assert.match(run(engine, named('"library:own.js"')).error.message, pattern);
    assert.match(run(engine, FIRST).fingerprint, /^[0-9a-f]{16}$/);
  });
}

test("names and numbers reach the engine as they are", () => {
  const { engine, known } = installed(EXAMPLE.replace("increase = 1.0", "least = -5e-324;\n  increase = 1e21"));
  assert.deepEqual(known.parameters, { decrease: 0.5, increase: 1e21, least: -5e-324 });
  const { known: refused } = installed(EXAMPLE.replace("increase = 1.0", "größe = 1"));
  assert.match(refused.error.message, /the name "gr\\u{f6}\\u{df}e" is not accepted/);
  run(engine, FIRST);
  const flow = 'a "b" \\ \x7f\t\n\u0000 ä';
  assert.equal(engine.look(0, { kind: "why", flow, from_s: 0, until_s: null }).value, `"${flow}"`);
});

test("conformance names the property that is violated", () => {
  const { engine } = installed(changed("return;"));
  assert.match(engine.conform("own.js").violation, /own\.js: the window never grows/);
  const { engine: other } = installed(changed("this.cwnd = ack.grown(this.cwnd, ack.mss); return;"));
  assert.match(other.conform("own.js").violation, /recovery/);
});

test("an algorithm that is not there, and a parameter that it does not have, are refused at their field", () => {
  const { engine } = installed(EXAMPLE);
  const { error } = run(engine, named('"library:other.js"'));
  assert.equal(error.field, "flows.bulk.tcp.external.name");
  assert.match(error.message, /library:own\.js/);
  const wrong = named('{ external = { name = "library:own.js", parameters = { increse = 2 } } }');
  const refused = run(engine, wrong).error;
  assert.deepEqual([refused.field, refused.suggestion], ["flows.bulk.tcp.external.parameters.increse", "increase"]);
});

test("probes of an own algorithm are recorded", () => {
  const code = EXAMPLE.replace("increase =", 'static probes = ["reductions"];\n  increase =')
    .replace("on_ack(ack) {", "start() {\n    this.reductions = 0;\n  }\n\n  on_ack(ack) {")
    .replace("const rest", "this.reductions += 1;\n    const rest");
  const { engine } = installed(code);
  const probe = '\n[[probes]]\nflows = ["bulk"]\nquantities = ["own.reductions"]\n';
  const { traces } = run(engine, named('"library:own.js"') + probe);
  const index = traces.findIndex(({ quantity }) => quantity === "own.reductions");
  const whole = { what: "trace", run: 0, from: 0, until: 1e9, intervals: 0 };
  assert.ok(engine.curve({ ...whole, index }).values.at(-1) >= 1);
});

test("a run is explained, written as packets and animated with its own bits", () => {
  const { engine } = installed(EXAMPLE);
  run(engine, named('"library:own.js"'));
  const { told } = looked(engine, { kind: "why", flow: "bulk", from_s: 1, until_s: 1.2 });
  const said = lines(told);
  assert.ok(said.length > 10 && said.every(({ time }) => time >= 1 && time <= 1.2));
  assert.ok(said.some(({ kind, text }) => kind === "decision" && /^on acknowledgement, cwnd [\d.]+ → [\d.]+ segments/.test(text)));
  const { told: counted, given } = looked(engine, { kind: "packets", node: "sender" });
  assert.deepEqual([...given.slice(0, 4)], [0x0a, 0x0d, 0x0d, 0x0a]);
  assert.ok(counted.count > 1000 && given.length > counted.count * 60);
  const film = looked(engine, { kind: "film", from_s: 5, until_s: 5.5 });
  const numbers = new Float64Array(film.given.buffer);
  assert.equal(numbers.length, film.told.count * 5);
  const { network } = engine.check(named('"library:own.js"'));
  const made = journeys(numbers, network);
  const waited = made.filter(({ link, from, sent }) => network.links[link]?.name === "r1-r2" && sent - from > 0.01);
  assert.ok(waited.length > 10, "packets wait before the slow link");
  const error = engine.look(0, { kind: "why", flow: "bulks", from_s: 0, until_s: 1 });
  assert.deepEqual([error.field, error.suggestion], ["flow", "bulk"]);
});

test("an algorithm that depends on more than its events is found out when its run is repeated", () => {
  const { engine } = installed(`let calls = 0;\n${changed("calls += 1; if (calls % 1009 === 0) { this.cwnd = 2 * ack.mss; return; }")}`);
  run(engine, named('"library:own.js"'));
  engine.look(0, { kind: "packets", node: "sender" });
  while (!engine.advance(20_000));
  assert.match(engine.finish().error.message, /differs/);
});

/** The module of the tests of dumbbell-library, with lines replaced. */
function aimdModule(from = "", to = "") {
  const text = readFileSync(new URL("crates/dumbbell-library/tests/it/aimd.wat", ROOT), "utf8");
  const module = binaryen.parseText(text.replace(from, () => to));
  const bytes = module.emitBinary();
  module.dispose();
  return bytes;
}
