// What leads onward: files, and the same run in Python.
import { PLOTS } from "./plots.js";
import { csv } from "./tables.js";

/** Saves a file. */
export function save(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = document.createElement("a");
  [link.href, link.download] = [url, name];
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A name of a file from that of a scenario. */
export function stem(name) {
  return (
    (name || "scenario")
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 60) || "scenario"
  );
}

/** The complete traces of results as one table. `ask(wanted)` returns curves of the engine. */
export async function tracesCsv(results, ask) {
  const chosen = results.traces.map((trace, index) => ({ ...trace, index })).filter((trace) => !trace.has_rows);
  const whole = { what: "trace", run: 0, from: 0, until: Number.MAX_VALUE, intervals: 0 };
  const curves = await ask(chosen.map(({ index }) => ({ ...whole, index })));
  const rows = chosen.flatMap(({ name, quantity }, place) =>
    Array.from(curves[place].times, (time, row) => [time, quantity, name, curves[place].values[row]]),
  );
  return csv({ columns: ["time_s", "quantity", "name", "value"], rows });
}

/** The plots as one picture. */
export async function picture(container, title) {
  const canvases = [...container.querySelectorAll("canvas")];
  const ratio = window.devicePixelRatio || 1;
  const [width, line] = [Math.max(...canvases.map((canvas) => canvas.width)), 20 * ratio];
  const height = canvases.reduce((sum, canvas) => sum + canvas.height + line, 2 * line);
  const whole = document.createElement("canvas");
  [whole.width, whole.height] = [width, height];
  const pen = whole.getContext("2d");
  const style = getComputedStyle(container);
  pen.fillStyle = style.getPropertyValue("--ground");
  pen.fillRect(0, 0, width, height);
  pen.fillStyle = style.getPropertyValue("--ink");
  pen.font = `${13 * ratio}px sans-serif`;
  pen.fillText(title, line / 2, line);
  let top = line * 2;
  canvases.forEach((canvas, place) => {
    pen.fillText(`${PLOTS[place].title} (${PLOTS[place].unit})`, line / 2, top);
    pen.drawImage(canvas, 0, top + line / 4);
    top += canvas.height + line;
  });
  return new Promise((resolve) => whole.toBlob(resolve, "image/png"));
}

/** The text as a literal of Python. */
function literal(text) {
  return /'''|\\|'$/.test(text) ? JSON.stringify(text) : `'''\\\n${text.endsWith("\n") ? text : `${text}\n`}'''`;
}

/** The same run in Python. `own` is the name of the file of an own algorithm, or null. */
export function python(text, seed, run, own = null) {
  const isUsed = own && text.includes(`library:${own}`);
  const note = own?.endsWith(".wasm")
    ? [`# Save ${own} beside this file: Download, Own algorithm.`]
    : [`# ${own} is in JavaScript and runs in the page alone: write it as a class in Python.`];
  return [
    ...(isUsed ? note : []),
    "import dumbbell",
    "",
    `scenario = dumbbell.Scenario.from_text(${literal(text)})`,
    `result = dumbbell.run(scenario, seed=${seed}, run=${run})`,
    "print(result.flows)",
    'result.plot().save("run.png")',
    "",
  ].join("\n");
}
