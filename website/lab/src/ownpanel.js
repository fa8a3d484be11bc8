// The panel of the own algorithm: its code, its check, and its name in the scenario.
import { replaceOwn, ask } from "./engine.js";
import { isOwnName } from "./link.js";

/** What the panel begins with: the rules of the registered `aimd`. */
export const EXAMPLE = `class Aimd extends Control {
  increase = 1.0; // segments per round trip
  decrease = 0.5; // fraction of the window after a loss

  on_ack(ack) {
    if (ack.in_recovery) return;
    const count = this.cwnd / (ack.mss * this.increase);
    const growth = this.cwnd < this.ssthresh ? ack.mss : ack.mss / count;
    this.cwnd = ack.grown(this.cwnd, growth);
  }

  on_congestion(congestion) {
    const rest = Math.max(congestion.flight_size * this.decrease, 2 * congestion.mss);
    const most = Math.max(this.cwnd, 2 * congestion.mss);
    this.ssthresh = Math.min(rest, most);
    this.cwnd = Math.min(congestion.restarts ? congestion.loss_window : rest, most);
  }
}
`;

const JAVASCRIPT = "own.js";
/** Largest module, in bytes. */
const MOST_BYTES = 1 << 20;

export class OwnPanel {
  /**
   * `parts` are the elements; `scriptEditor(parent, text)` promises the editor; `onReplaced()` is called when the
   * algorithm has changed, and `use(name)` puts its name into the scenario.
   */
  constructor(parts, scriptEditor, { onReplaced, use }) {
    this.parts = parts;
    this.onReplaced = onReplaced;
    this.own = null;
    this.script = null;
    const act = (one, run) => one.addEventListener("click", () => run().catch((error) => this.say(error.message, true)));
    this.scriptEditor = scriptEditor;
    parts.panel.addEventListener("toggle", () => this.opened().catch((error) => this.say(error.message, true)));
    act(parts.use, async () => {
      await this.set({ name: JAVASCRIPT, code: (await this.opened()).text() });
      use(`library:${JAVASCRIPT}`);
    });
    act(parts.check, () => this.check());
    act(parts.remove, () => this.set(null));
    parts.file.addEventListener("change", () =>
      this.load(parts.file.files[0], use).catch((error) => this.say(error.message, true)),
    );
    this.enable();
  }

  /** The editor, which is made when the panel is opened first. */
  opened() {
    this.opening ??= this.scriptEditor(this.parts.code, EXAMPLE).then((made) => {
      this.script = made;
      this.showCode();
      return made;
    });
    return this.opening;
  }

  showCode() {
    const code = this.own?.code;
    if (typeof code === "string" && this.script && this.script.text() !== code) this.script.replace(code);
  }

  /** The name of the algorithm in scenarios, or null. */
  get name() {
    return this.own ? `library:${this.own.name}` : null;
  }

  say(text, isError = false) {
    this.parts.status.textContent = text;
    this.parts.status.className = isError ? "error" : "";
  }

  enable() {
    this.parts.remove.disabled = !this.own;
  }

  /** Installs an algorithm, or none. What is wrong with it is said, and thrown. */
  async set(own) {
    try {
      const [known] = await replaceOwn(own ? [own] : []);
      this.own = own;
      const parameters = Object.entries(known?.parameters ?? {}).map(([name, value]) => `${name} = ${value}`);
      const list = parameters.length ? ` Parameters: ${parameters.join(", ")}.` : "";
      this.say(own ? `In a scenario: tcp = "library:${own.name}".${list}` : "");
      this.showCode();
    } finally {
      this.enable();
      await this.onReplaced();
    }
  }

  async check() {
    this.say("Checking…");
    const isModule = this.own && typeof this.own.code !== "string";
    const own = isModule ? this.own : { name: JAVASCRIPT, code: (await this.opened()).text() };
    if (own.code !== this.own?.code) await this.set(own);
    const { found } = await ask("conform", { name: own.name });
    this.say(found.violation ?? `${own.name} has the properties of every algorithm.`, Boolean(found.violation));
  }

  async load(file, use) {
    if (!file) return;
    this.parts.file.value = "";
    const name = file.name.replace(/[^\w.-]/g, "_");
    if (!isOwnName(name)) throw new Error(`${file.name}: expected a file that ends in .js or .wasm`);
    if (file.size > MOST_BYTES) throw new Error(`${file.name}: expected at most ${MOST_BYTES} bytes`);
    const code = name.endsWith(".js") ? await file.text() : new Uint8Array(await file.arrayBuffer());
    await this.set({ name, code });
    use(`library:${name}`);
  }
}
