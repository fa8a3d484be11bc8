// The page: the text of the scenario is its only state, beside seed and run number.
import { withDefinitions } from "./complete.js";
import { Controls, groupOf } from "./controls.js";
import { diagnostic, warningDiagnostics } from "./diagnostics.js";
import { editor, scriptEditor } from "./editor.js";
import { Cancelled, Failure, Refused, ask, cancel, fetched, start } from "./engine.js";
import { WIDTH, lines, show } from "./explain.js";
import { picture, python, save, stem, tracesCsv } from "./files.js";
import { Film, SPEEDS } from "./film.js";
import { carried, fragment, wholeNumber } from "./link.js";
import { OwnPanel } from "./ownpanel.js";
import { Plots, coloursOf } from "./plots.js";
import { rateOf } from "./quantities.js";
import { csv, showTables } from "./tables.js";
import { Outline, settingAlgorithm } from "./text.js";
import { draw } from "./topology.js";

const byId = (id) => document.getElementById(id);
const FIRST = JSON.parse(byId("first").textContent);
/** Time without a key before a text is run, in ms. A control runs at once. */
const PAUSE = 250;

const state = { at: {}, runs: [], kept: null, timer: null, turn: 0 };
const curves = async (wanted) => (await ask("curves", { wanted })).curves;
const plots = new Plots(byId("plots"), curves, (picked) => explain(picked).catch(report));
const controls = new Controls(byId("controls"), {
  text: () => edit.text(),
  change: (change) => edit.change(change),
  choose,
});
const edit = editor(byId("editor"), "", () => state, onChange);
const ownPanel = new OwnPanel(
  {
    panel: byId("own"),
    code: byId("own-code"),
    use: byId("own-use"),
    check: byId("own-check"),
    remove: byId("own-remove"),
    file: byId("own-file"),
    status: byId("own-status"),
  },
  (parent, text) => scriptEditor(parent, text, isDark()),
  { onReplaced, use: useOwn },
);
const film = new Film(byId("film-picture"), (time, share) => {
  byId("film-at").value = Math.round(share * 1000);
  byId("film-time").textContent = `${time.toFixed(4)} s`;
});

/** The worker is another one, which has no results. */
async function onReplaced() {
  [state.last, state.kept] = [null, null];
  controls.offer(ownPanel.name ? [ownPanel.name] : []);
  closeLooks();
  await update();
}

/** Puts the own algorithm into the chosen flow. */
function useOwn(name) {
  const change = state.outline && settingAlgorithm(state.outline, state.at.flow, name);
  if (change) edit.change(change);
  else status(`State tcp = "${name}" in a flow.`);
}

function status(text, kind = "") {
  byId("status").textContent = text;
  byId("status").className = kind;
}

function seeds() {
  const [seed, run] = [wholeNumber(byId("seed").value), wholeNumber(byId("run-number").value)];
  byId("seed").setAttribute("aria-invalid", String(seed === null));
  byId("run-number").setAttribute("aria-invalid", String(run === null));
  if (seed === null || run === null) throw new Error("seed and run are whole numbers from 0 to 18446744073709551615");
  return { seed, run };
}

function onChange(_, isByControl) {
  clearTimeout(state.timer);
  state.timer = setTimeout(() => update(), isByControl ? 0 : PAUSE);
}

/** Checks the text, shows what it states, and runs it. A newer text replaces an older one at every step. */
async function update() {
  state.turn += 1;
  const turn = state.turn;
  const text = edit.text();
  try {
    const { checked } = await ask("check", { text });
    if (turn !== state.turn) return;
    state.outline = new Outline(checked.outline, text);
    if (checked.error) {
      edit.show([diagnostic(checked.error, state.outline, text)]);
      controls.disable(true);
      await cancel();
      status(checked.error.message, "error");
      return;
    }
    edit.show(warningDiagnostics(checked.warnings, state.outline));
    showNetwork(checked.network);
    remember(text).catch(report);
    if (byId("auto").checked) await run(text);
    else status("Press Run.");
  } catch (error) {
    report(error);
  }
}

function showNetwork(network) {
  state.network = network;
  const links = network.links.map((link) => link.name);
  const groups = network.flows.map((flow) => groupOf(flow.name, state.outline));
  if (!links.includes(state.at.link)) state.at.link = bottleneck(network);
  if (!groups.includes(state.at.flow)) state.at.flow = groups[0];
  controls.show(network, state.outline, state.at);
  draw(byId("topology"), network, state.at, {
    onLink: (link) => choose({ link }),
    onFlow: (flow) => choose({ flow: groupOf(flow, state.outline) }),
  });
}

/** The slowest link that has a stated queue, or the slowest. */
function bottleneck({ links }) {
  const slowest = (list) =>
    list.reduce((a, b) => ((rateOf(b.rate) ?? Infinity) < (rateOf(a.rate) ?? Infinity) ? b : a), list[0]);
  const queued = links.filter((link) => state.outline.get(`links.${link.name}.queue`));
  return slowest(queued.length ? queued : links)?.name;
}

function choose(chosen) {
  const focused = document.activeElement?.getAttribute?.("aria-label");
  Object.assign(state.at, chosen);
  showNetwork(state.network);
  const again = [...byId("topology").querySelectorAll("[aria-label]")].find(
    (one) => one.getAttribute("aria-label") === focused,
  );
  again?.focus();
}

async function run(text = edit.text()) {
  closeLooks();
  const { seed, run } = seeds();
  const shown = setTimeout(() => working(true), 150);
  try {
    const onProgress = (share) => (byId("progress").value = share);
    const { results, spent } = await ask("run", { text, seed, run, watch: 1 }, onProgress);
    state.last = { results, run: 0, label: "", text, seed, number: run };
    await showRuns();
    const rate = (results.packets / Math.max(spent, 0.01)) * 1e-3;
    const sampled = results.is_sampled
      ? " Curves are sampled at regular times, because there are too many changes."
      : "";
    const size = `${results.packets.toLocaleString("en")} packets in ${Math.round(spent)} ms`;
    status(`${size}, ${rate.toFixed(2)} million per second. Fingerprint ${results.fingerprint}.${sampled}${omitted()}`);
  } catch (error) {
    report(error);
  } finally {
    clearTimeout(shown);
    working(false);
  }
}

function omitted() {
  const { flow_count: count, flows } = state.network;
  return count > flows.length ? ` The first ${flows.length} of ${count} flows are drawn.` : "";
}

function working(isWorking) {
  byId("progress").hidden = !isWorking;
  byId("cancel").disabled = !isWorking;
  if (!isWorking) byId("progress").value = 0;
}

function report(error) {
  if (error instanceof Cancelled) return;
  if (error instanceof Refused && state.outline) {
    edit.show([diagnostic(error.refusal, state.outline, edit.text())]);
  } else if (error instanceof Failure) {
    [state.last, state.kept] = [null, null];
  }
  status(error.message, "error");
}

/** Repeats a run for a closer look; `run` is 0 for the last one, 1 for the one that was kept. */
async function look(run, request) {
  const shown = setTimeout(() => working(true), 150);
  try {
    return await ask("look", { run, request }, (share) => (byId("progress").value = share));
  } finally {
    clearTimeout(shown);
    working(false);
  }
}

/** Shows what the sender of a flow knew and did around a time. */
async function explain({ time, flow, run = 0 }) {
  const of = run === 0 ? state.last : state.kept;
  if (!of) return;
  const name = flow ?? state.network.flows.find((one) => groupOf(one.name, state.outline) === state.at.flow)?.name;
  const at = Math.min(Math.max(0, time), of.results.simulated_s);
  const request = { kind: "why", flow: name, from_s: Math.max(0, at - WIDTH / 2), until_s: at + WIDTH / 2 };
  const { results } = await look(run, request);
  if (results.mss === null) throw new Error(`${name} sends datagrams and has no window`);
  state.explained = { time: at, flow: name, run };
  byId("why").hidden = false;
  byId("why-title").textContent = `${of.label}What ${name} knew and did around ${at.toFixed(3)} s`;
  show(byId("why-entries"), lines(results), at);
}

const explainMoved = (share) => {
  const { time, ...of } = state.explained;
  return explain({ ...of, time: time + share * WIDTH });
};

/** Animates the packets of the visible part of the last run, from its beginning on. */
async function animate() {
  if (!state.last) return;
  const [from, until] = plots.visible;
  const { results, given } = await look(0, { kind: "film", from_s: from, until_s: until });
  const numbers = new Float64Array(given.buffer);
  if (!numbers.length) throw new Error("there is no packet in the visible part");
  byId("film").hidden = false;
  film.show(numbers, state.network, [from, results.omitted ? numbers.at(-5) : until], coloursOf(isDark()));
  byId("film-play").textContent = film.isPlaying ? "Pause" : "Play";
  byId("film-title").textContent = `Packets from ${from.toFixed(3)} s to ${film.until.toFixed(3)} s`;
  byId("film").scrollIntoView({ block: "nearest" });
}

function playFilm() {
  film.play(!film.isPlaying);
  byId("film-play").textContent = film.isPlaying ? "Pause" : "Play";
}

function closeLooks() {
  [byId("why").hidden, byId("film").hidden] = [true, true];
  film.stop();
}

async function showRuns() {
  const runs = [state.last, state.kept].filter(Boolean);
  byId("drop").disabled = !state.kept;
  if (!runs.length) return;
  showTables(byId("tables"), runs, byId("all-columns").checked);
  await plots.show(runs, isDark());
}

/** Keeps the last run: its curves stay, dashed, beside those of later runs. */
async function keep() {
  if (!state.last) return;
  await ask("keep", { isKept: true });
  state.kept = { ...state.last, run: 1, label: "kept: " };
  state.last = null;
  await update();
}

async function drop() {
  await ask("keep", { isKept: false });
  state.kept = null;
  await showRuns();
}

/** The own algorithm, if the text names it. */
const carriedOwn = (text) => (ownPanel.own && text.includes(ownPanel.name) ? ownPanel.own : null);

async function remember(text) {
  const { seed, run } = seeds();
  const hash = await fragment({ text, seed, run, own: carriedOwn(text) });
  if (text === edit.text()) history.replaceState(null, "", hash);
}

async function share() {
  const { seed, run } = seeds();
  const text = edit.text();
  history.replaceState(null, "", await fragment({ text, seed, run, own: carriedOwn(text) }));
  const link = byId("link");
  link.value = location.href;
  byId("share-dialog").showModal();
  link.select();
}

async function copy(field) {
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    status("Copied.");
  } catch {
    status("The browser does not allow to copy; the text is selected.");
  }
}

function showPython() {
  const { seed, run } = seeds();
  byId("python").value = python(edit.text(), seed, run, ownPanel.own?.name);
  byId("python-dialog").showModal();
}

const downloads = {
  toml: () => save(`${name()}.toml`, edit.text(), "application/toml"),
  flows: () => save(`${name()}-flows.csv`, csv(state.last.results.flows), "text/csv"),
  links: () => save(`${name()}-links.csv`, csv(state.last.results.links), "text/csv"),
  traces: async () => save(`${name()}-traces.csv`, await tracesCsv(state.last.results, curves), "text/csv"),
  pcapng: packets,
  own: () => save(ownPanel.own.name, ownPanel.own.code, "application/octet-stream"),
  png: async () => save(`${name()}.png`, await picture(byId("plots"), state.last.results.scenario || "Dumbbell")),
};

/** The packets at the node that sends the chosen flow. */
async function packets() {
  const flow = state.network.flows.find((one) => groupOf(one.name, state.outline) === state.at.flow);
  const { given } = await look(0, { kind: "packets", node: flow.from });
  save(`${name()}-${stem(flow.from)}.pcapng`, given, "application/octet-stream");
}

const name = () => stem(state.network?.name);

async function download(field) {
  const kind = field.value;
  field.value = "";
  if (kind === "own" && !ownPanel.own) status("There is no own algorithm.", "error");
  else if (!["toml", "own"].includes(kind) && !state.last) status("There is no run to download yet.", "error");
  else await downloads[kind]();
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function paint() {
  edit.setDark(isDark());
  byId("theme").textContent = isDark() ? "Light" : "Dark";
  if (state.last) plots.show([state.last, state.kept].filter(Boolean), isDark());
}

function theme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  paint();
}

async function open(hash) {
  let chosen = { text: FIRST.text, seed: "1", run: "0" };
  let refusal = null;
  try {
    chosen = (await carried(hash)) ?? chosen;
  } catch (error) {
    refusal = error;
  }
  [byId("seed").value, byId("run-number").value] = [chosen.seed, chosen.run];
  edit.replace(chosen.text);
  clearTimeout(state.timer);
  if (chosen.own || ownPanel.own) {
    // What is wrong with it is said in its panel, and the run is refused.
    await ownPanel.set(chosen.own ?? null).catch((error) => ownPanel.say(error.message, true));
    byId("own").open ||= Boolean(chosen.own);
  } else {
    await update();
  }
  if (refusal) status(`${refusal.message}. The first example is shown instead.`, "error");
}

async function openExample(field) {
  const file = field.value;
  field.value = "";
  edit.replace(await (await fetched(`examples/${file}.toml`)).text());
}

function on(id, kind, act) {
  byId(id).addEventListener(kind, (event) => Promise.resolve(act(event.currentTarget)).catch(report));
}

async function begin() {
  for (const [file, title] of FIRST.examples) byId("example").append(new Option(title, file));
  on("run", "click", () => update().then(() => (byId("auto").checked ? null : run())));
  on("cancel", "click", () => cancel().then(() => status("Cancelled.")));
  on("keep", "click", keep);
  on("drop", "click", drop);
  on("share", "click", share);
  on("copy-link", "click", () => copy(byId("link")));
  on("show-python", "click", showPython);
  on("copy-python", "click", () => copy(byId("python")));
  on("download", "change", download);
  on("example", "change", openExample);
  on("theme", "click", theme);
  on("all-columns", "change", showRuns);
  on("whole", "click", () => plots.zoom(null));
  on("zoom-in", "click", () => plots.shift(0.5, 0));
  on("zoom-out", "click", () => plots.shift(2, 0));
  on("explain-at", "change", (field) => explain({ time: Number(field.value.replace(",", ".")) || 0 }));
  on("why-before", "click", () => explainMoved(-1));
  on("why-after", "click", () => explainMoved(1));
  on("why-close", "click", () => (byId("why").hidden = true));
  on("film-open", "click", animate);
  on("film-play", "click", playFilm);
  on("film-close", "click", closeLooks);
  on("film-at", "input", (field) => film.seek(Number(field.value) / 1000));
  for (const [speed, label] of SPEEDS) byId("film-speed").append(new Option(label, speed));
  byId("film-speed").value = film.speed;
  on("film-speed", "change", (field) => (film.speed = Number(field.value)));
  for (const id of ["seed", "run-number"]) on(id, "change", update);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  window.addEventListener("hashchange", () => open(location.hash));
  paint();
  start();
  const described = await (await fetched("description.json")).json();
  state.schema = withDefinitions(described.schema);
  controls.describe(described);
  await open(location.hash);
  document.documentElement.dataset.ready = "true";
}

begin().catch(report);
