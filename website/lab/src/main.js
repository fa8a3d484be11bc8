// The page: the text of the scenario is its only state, beside seed and run number.
import { Controls, groupOf } from "./controls.js";
import { diagnostic, warningDiagnostics } from "./diagnostics.js";
import { editor } from "./editor.js";
import { Cancelled, Failure, Refused, ask } from "./engine.js";
import { picture, python, save, stem, tracesCsv } from "./files.js";
import { carried, fragment, wholeNumber } from "./link.js";
import { Plots } from "./plots.js";
import { rateOf } from "./quantities.js";
import { csv, showTables } from "./tables.js";
import { Outline } from "./text.js";
import { draw } from "./topology.js";

const byId = (id) => document.getElementById(id);
const FIRST = JSON.parse(byId("first").textContent);
/** Time without a key before a text is run, in ms. A control runs at once. */
const PAUSE = 250;

const state = { at: {}, runs: [], kept: null, timer: null, turn: 0 };
const curves = async (wanted) => (await ask("curves", { wanted })).curves;
const plots = new Plots(byId("plots"), curves);
const controls = new Controls(byId("controls"), {
  text: () => edit.text(),
  change: (change) => edit.change(change),
  choose,
});
const edit = editor(byId("editor"), "", () => state, onChange);

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
      await ask("cancel");
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
    state.kept = null;
  }
  status(error.message, "error");
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

async function remember(text) {
  const { seed, run } = seeds();
  const hash = await fragment({ text, seed, run });
  if (text === edit.text()) history.replaceState(null, "", hash);
}

async function share() {
  const { seed, run } = seeds();
  history.replaceState(null, "", await fragment({ text: edit.text(), seed, run }));
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
  byId("python").value = python(edit.text(), seed, run);
  byId("python-dialog").showModal();
}

const downloads = {
  toml: () => save(`${name()}.toml`, edit.text(), "application/toml"),
  flows: () => save(`${name()}-flows.csv`, csv(state.last.results.flows), "text/csv"),
  links: () => save(`${name()}-links.csv`, csv(state.last.results.links), "text/csv"),
  traces: async () => save(`${name()}-traces.csv`, await tracesCsv(state.last.results, curves), "text/csv"),
  png: async () => save(`${name()}.png`, await picture(byId("plots"), state.last.results.scenario || "Dumbbell")),
};

const name = () => stem(state.network?.name);

async function download(field) {
  const kind = field.value;
  field.value = "";
  if (kind !== "toml" && !state.last) status("There is no run to download yet.", "error");
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
  await update();
  if (refusal) status(`${refusal.message}. The first example is shown instead.`, "error");
}

async function openExample(field) {
  const file = field.value;
  field.value = "";
  const response = await fetch(`examples/${file}.toml`);
  if (!response.ok) throw new Error(`examples/${file}.toml: ${response.status} ${response.statusText}`);
  edit.replace(await response.text());
}

function on(id, kind, act) {
  byId(id).addEventListener(kind, (event) => Promise.resolve(act(event.currentTarget)).catch(report));
}

async function begin() {
  for (const [file, title] of FIRST.examples) byId("example").append(new Option(title, file));
  on("run", "click", () => update().then(() => (byId("auto").checked ? null : run())));
  on("cancel", "click", () => ask("cancel").then(() => status("Cancelled.")));
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
  for (const id of ["seed", "run-number"]) on(id, "change", update);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  window.addEventListener("hashchange", () => open(location.hash));
  paint();
  const described = await ask("describe");
  state.schema = described.schema;
  controls.describe(described);
  await open(location.hash);
  document.documentElement.dataset.ready = "true";
}

begin().catch(report);
