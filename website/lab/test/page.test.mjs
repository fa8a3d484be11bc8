// The parts of the page that need no browser: links, edits of the text, completion and quantities.
import assert from "node:assert/strict";
import { test } from "node:test";
import { completions, contextAt, described, withDefinitions } from "../src/complete.js";
import { diagnostic } from "../src/diagnostics.js";
import { carried, fragment, wholeNumber } from "../src/link.js";
import { merged } from "../src/plots.js";
import { packetsOf, rateOf, rateText, timeOf, timeText } from "../src/quantities.js";
import { csv } from "../src/tables.js";
import { Outline, setting, settingAlgorithm, settingLimit, settingQueue } from "../src/text.js";
import { python, stem } from "../src/files.js";
import { description, engine } from "./engine.mjs";

const TEXT = `duration = "5 s"
nodes = ["a", "b"]
links = [{ name = "ba", from = "b", to = "a", rate = "2 Mbit/s", delay = "10 ms" }]
[[links]]
`.replace("[[links]]\n", "");

const TABLES = `duration = "5 s"
nodes = ["a", "b"]

[[links]]
name = "ab"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "10 ms" # one way
queue = { kind = "droptail", limit = "30 packets" }

[[links]]
name = "ba"
from = "b"
to = "a"
rate = "2 Mbit/s"
delay = "10 ms"

[[flows]]
name = "f"
from = "a"
to = "b"
tcp = { variant = "reno", rules = "bsd" }
`;

const outlined = (text) => new Outline(engine().check(text).outline, text);
const changed = (text, { from, to, insert }) => text.slice(0, from) + insert + text.slice(to);
/** The text after an edit, which must be valid. */
function edited(text, change) {
  const result = changed(text, change);
  assert.equal(engine().check(result).error, undefined, result);
  return result;
}

test("a link gives back the scenario with its seed", async () => {
  const there = { text: 'name = "ü 𝄞"\n', seed: "18446744073709551615", run: "3" };
  assert.deepEqual(await carried(await fragment(there)), { ...there, own: null });
  assert.equal(await carried(""), null);
});

test("a link gives back an own algorithm, and links without one have the first version", async () => {
  const there = { text: TABLES, seed: "1", run: "0" };
  for (const own of [
    { name: "own.js", code: "class Ü extends Control {}" },
    { name: "aimd.wasm", code: Uint8Array.of(0, 97, 115, 109, 255) },
  ]) {
    assert.deepEqual(await carried(await fragment({ ...there, own })), { ...there, own });
  }
  // A link of an earlier page has no field that a later one has added.
  const earlier = await fragment(there);
  assert.match(earlier, /^#v=1&seed=1&run=0&toml=[\w-]+$/);
  assert.deepEqual(await carried(`${earlier}&own=own.js&code=AA`), { ...there, own: null });
  const hostile = await fragment({ ...there, own: { name: "own.js", code: "" } });
  await assert.rejects(carried(hostile.replace("own.js", "..%2Fx.js")), /ends in \.js or \.wasm/);
});

test("damaged, newer and hostile links are refused with a reason", async () => {
  const good = await fragment({ text: TABLES, seed: "1", run: "0" });
  await assert.rejects(carried(good.replace("v=1", "v=3")), /version 3/);
  await assert.rejects(carried(good.slice(0, -20)), /damaged/);
  await assert.rejects(carried("#v=1&toml=%%%"), /damaged/);
  await assert.rejects(carried(good.replace("seed=1", "seed=18446744073709551616")), /64 bits/);
  // Two megabytes of spaces are a link of a few kilobytes.
  await assert.rejects(carried(await fragment({ text: " ".repeat(2 << 20), seed: "1", run: "0" })), /longer than/);
  assert.equal(wholeNumber("-1"), null);
});

test("quantities are read and written with three digits", () => {
  assert.deepEqual([rateOf("1.6 Mbit/s"), rateOf("1_000 kB/s"), rateOf("2 s")], [1.6e6, 8e6, null]);
  assert.deepEqual([timeOf("50 ms"), packetsOf("10 packets"), packetsOf("15 kB")], [0.05, 10, null]);
  assert.deepEqual(
    [rateText(1.6e6), rateText(950), timeText(0.0005), timeText(2)],
    ["1.6 Mbit/s", "950 bit/s", "0.5 ms", "2 s"],
  );
});

test("controls replace the range of a value and nothing else", () => {
  const outline = outlined(TABLES);
  const rate = edited(TABLES, setting(outline, "links.ab", "rate", '"3 Mbit/s"', "to"));
  assert.equal(rate, TABLES.replace('"2 Mbit/s"', '"3 Mbit/s"'));
  assert.match(edited(TABLES, settingLimit(outline, "ab", "9 packets")), /limit = "9 packets" \}/);
  assert.match(
    edited(TABLES, settingQueue(outline, "ab", "codel", "30 packets")),
    /kind = "codel", limit = "30 packets"/,
  );
  assert.match(edited(TABLES, settingAlgorithm(outline, "f", "cubic")), /variant = "cubic", rules/);
});

test("controls add fields that are not stated", () => {
  const outline = outlined(TABLES);
  assert.match(
    edited(TABLES, settingLimit(outline, "ba", "9 packets")),
    /"10 ms"\nqueue = \{ kind = "droptail", limit = "9 packets" \}\n/,
  );
  assert.match(edited(TABLES, settingQueue(outline, "ba", "pie", undefined)), /\nqueue = "pie"\n/);
  assert.match(edited(TABLES, setting(outline, "flows.f", "count", "3", "to")), /to = "b"\ncount = 3\n/);
  const inline = `${TEXT}flows = [{ name = "f", from = "b", to = "a", source = "cbr" }]\n`;
  const added = edited(inline, settingQueue(outlined(inline), "ba", "red", undefined));
  assert.match(added, /delay = "10 ms", queue = "red" \}/);
});

test("an own algorithm takes the place of a registered one, and back", () => {
  const forms = ['"reno"', '{ variant = "reno", rules = "bsd" }', '{ congestion = "reno", rules = "bsd" }'];
  for (const tcp of forms) {
    const text = TABLES.replace('{ variant = "reno", rules = "bsd" }', tcp);
    const own = changed(text, settingAlgorithm(outlined(text), "f", "library:own.js"));
    assert.ok(own.includes('"library:own.js"') && !own.includes("reno"), own);
    assert.match(engine().check(own).error.message, /no own algorithm/);
    const back = edited(own, settingAlgorithm(outlined(own), "f", "cubic"));
    assert.ok(back.includes('"cubic"') && !back.includes("library"), back);
  }
});

test("the nearest part of the text that has a field is found", () => {
  const outline = outlined(TABLES.replace('name = "f"', 'name = "web"\ncount = 2'));
  assert.equal(outline.nearest("flows.web-2.tcp").path, "flows.web.tcp");
  assert.equal(outline.nearest("links.ab.queue.target").path, "links.ab.queue");
  assert.equal(outline.nearest("scenario"), undefined);
});

test("completion knows the table at the cursor", () => {
  const at = (text) => contextAt(text, text.length);
  assert.deepEqual(at('[[links]]\nname = "a"\nqueue = { kind = "co').path, ["links", "queue"]);
  assert.deepEqual(at('[[links]]\nqueue = { kind = "x" }\nra').path, ["links"]);
  assert.deepEqual([at("[[links]]\nra").key, at('[[links]]\nrate = "').key], [null, "rate"]);
  assert.deepEqual(at('links = [{ name = "a", queue = { k').path, ["links", "queue"]);
});

test("completion offers fields, values and names", () => {
  const { schema } = description();
  const network = { nodes: ["a", "b"], links: [{ name: "ab" }], flows: [{ name: "f" }] };
  const labels = (text) => completions(schema, network, text, text.length)?.options.map(({ label }) => label) ?? [];
  assert.ok(labels("[[links]]\nqu").includes("queue"));
  assert.ok(labels('[[links]]\nqueue = { kind = "').includes("fqcodel"));
  const ofCodel = labels('[[links]]\nqueue = { kind = "codel", ');
  assert.ok(ofCodel.includes("target") && !ofCodel.includes("max_p"));
  assert.ok(labels('[[flows]]\ntcp = "').includes("cubic"));
  assert.deepEqual(labels('[[flows]]\nfrom = "'), ["a", "b"]);
  assert.deepEqual(labels("[["), ["nodes", "links", "flows", "probes"]);
  assert.match(described(schema, "links.0.rate").description, /Rate of the transmitter/);
});

test("step functions are merged at the union of their times", () => {
  const curves = [
    { times: [0, 2], values: [1, 3] },
    { times: [1, 2, 4], values: [5, 6, 7] },
  ];
  assert.deepEqual(merged(curves), [
    [0, 1, 2, 4],
    [1, 1, 3, 3],
    [null, 5, 6, 7],
  ]);
});

test("files have safe names and quoted cells", () => {
  assert.equal(stem("<script>../x"), "script-x");
  assert.equal(csv({ columns: ["a", "b"], rows: [['x"y', null]] }), 'a,b\n"x""y",\n');
  assert.match(python("name = '''x'''\n", "1", "0"), /from_text\("name = '''x'''\\n"\)/);
});

/** Whole numbers that look random and are the same every time. */
function* numbers(seed) {
  let state = seed;
  for (;;) {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    yield state;
  }
}

test("200 wrong edits are refused at their place", () => {
  const drawn = numbers(1);
  const below = (most) => drawn.next().value % most;
  let refused = 0;
  while (refused < 200) {
    const at = below(TABLES.length);
    const inserted = ["", "x", '"', "[", "= 1", "\n", "#", "\u0000", "𝄞", "9".repeat(400)][below(10)];
    const text = TABLES.slice(0, at) + inserted + TABLES.slice(at + below(12));
    const { error, outline } = engine().check(text);
    if (!error) continue;
    refused += 1;
    const { from, to, message } = diagnostic(error, new Outline(outline, text), text);
    assert.ok(0 <= from && from <= to && to <= text.length && message, `${from} to ${to}: ${message}`);
    const isWhole = from === 0 && to === text.length;
    assert.ok(!isWhole, message);
  }
});

test("an error is shown at its field or its line", () => {
  const shown = (text) => {
    const { error, outline } = engine().check(text);
    const { from, to } = diagnostic(error, new Outline(outline, text), text);
    return text.slice(from, to);
  };
  assert.equal(shown(TABLES.replace("droptail", "doptail")), '"doptail"');
  assert.equal(shown(TABLES.replace('"30 packets"', "30")), "30");
  assert.equal(shown(TABLES.replace('to = "b"', 'to = "z"')), '"z"');
  assert.equal(shown(TABLES.replace('delay = "10 ms" # one way', "delay = ")), "delay = ");
});

test("completion knows what a schema defines once", () => {
  const found = (text) => completions(withDefinitions(description().schema), null, text, text.length).options.map((one) => one.label);
  assert.ok(found('topology = { kind = "satellite", queue = { ').includes("limit"));
  assert.ok(found("links = [{ duplex = { queue = ").includes("codel"));
});
