// Sliders and menus for the chosen link and flow. They show what the text states and replace ranges of it.
import { packetsOf, rateOf, rateText, rounded, timeOf, timeText } from "./quantities.js";
import { algorithmPath, quoted, setting, settingAlgorithm, settingLimit, settingQueue } from "./text.js";

/** A logarithmic slider goes through these values with steps of about 4 %. */
const STEPS = 200;
const RANGES = { rate: [1e5, 1e9], delay: [1e-4, 1], buffer: [1, 5000], flows: [1, 50] };

function valueAt(range, step) {
  const [low, high] = RANGES[range];
  return low * (high / low) ** (step / STEPS);
}

function stepAt(range, value) {
  const [low, high] = RANGES[range];
  return Math.round((STEPS * Math.log(Math.min(high, Math.max(low, value)) / low)) / Math.log(high / low));
}

/** Two digits, so that a slider writes round numbers. */
const round = (value) => Number(value.toPrecision(2));

export class Controls {
  /** `text()` returns the text, `change(change)` edits it; `choose({link, flow})` selects. */
  constructor(form, { text, change, choose }) {
    this.form = form;
    this.text = text;
    this.change = change;
    this.fields = Object.fromEntries([...form.elements].filter(({ name }) => name).map((one) => [one.name, one]));
    form.addEventListener("submit", (event) => event.preventDefault());
    this.fields.link.addEventListener("change", () => choose({ link: this.fields.link.value }));
    this.fields.flow.addEventListener("change", () => choose({ flow: this.fields.flow.value }));
    const on = (name, kind, act) => this.fields[name].addEventListener(kind, () => this.apply(act));
    const slider = (name) => Number(this.fields[name].value);
    on("rate", "input", () => this.link("rate", quoted(rateText(round(valueAt("rate", slider("rate"))))), "to"));
    on("delay", "input", () => this.link("delay", quoted(timeText(round(valueAt("delay", slider("delay"))))), "rate"));
    on("buffer", "input", () => settingLimit(this.outline, this.at.link, this.packets(slider("buffer"))));
    on("queue", "change", () => settingQueue(this.outline, this.at.link, this.fields.queue.value, this.keptLimit()));
    on("algorithm", "change", () => settingAlgorithm(this.outline, this.at.flow, this.fields.algorithm.value));
    on("flows", "input", () => setting(this.outline, `flows.${this.at.flow}`, "count", String(slider("flows")), "to"));
  }

  /** Fills the menus with what the engine has. */
  describe({ queues, variants }) {
    this.hasLimit = new Set();
    for (const { name, summary, has_limit: hasLimit } of queues) {
      this.fields.queue.append(new Option(name, name));
      this.fields.queue.lastChild.title = summary ?? "";
      if (hasLimit) this.hasLimit.add(name);
    }
    // A preset names a congestion control with its recovery; every algorithm is one.
    for (const { name, summary } of variants) {
      this.fields.algorithm.append(new Option(name, name));
      this.fields.algorithm.lastChild.title = summary ?? "";
    }
  }

  /** Offers own algorithms besides those of the registry. */
  offer(names) {
    for (const option of [...this.fields.algorithm.options]) if (option.value.startsWith("library:")) option.remove();
    this.fields.algorithm.prepend(...names.map((name) => new Option(name, name)));
  }

  packets(step) {
    const count = Math.max(1, Math.round(round(valueAt("buffer", step))));
    return `${count} packets`;
  }

  keptLimit() {
    const kind = this.fields.queue.value;
    return this.hasLimit.has(kind) ? this.outline.string(`links.${this.at.link}.queue.limit`) : undefined;
  }

  link(field, value, after) {
    return setting(this.outline, `links.${this.at.link}`, field, value, after);
  }

  /** Edits the text. While the places in it are not known yet, because it has just changed, the last wish waits. */
  apply(act) {
    this.waiting = null;
    if (this.outline?.text !== this.text()) {
      this.waiting = act;
      return;
    }
    const change = act();
    if (change) this.change(change);
  }

  /** Lets nothing be changed while the text is not valid. */
  disable(isDisabled) {
    for (const set of this.form.querySelectorAll("fieldset")) set.disabled = isDisabled;
    if (isDisabled) this.waiting = null;
  }

  /** Shows the state of a valid text. */
  show(network, outline, at) {
    [this.outline, this.at] = [outline, at];
    this.disable(false);
    if (this.waiting) {
      this.apply(this.waiting);
      return;
    }
    this.menu(
      "link",
      network.links.map((link) => link.name),
      at.link,
    );
    this.menu("flow", [...new Set(network.flows.map((flow) => groupOf(flow.name, outline)))], at.flow);
    const link = network.links.find((one) => one.name === at.link);
    this.slider("rate", rateOf(link?.rate), (value) => rateText(value), link?.rate);
    this.slider("delay", timeOf(link?.delay), (value) => timeText(value), link?.delay);
    this.slider("buffer", packetsOf(link?.queue?.limit), (value) => `${rounded(value)} packets`, link?.queue?.limit);
    this.fields.queue.value = link?.queue?.kind ?? "droptail";
    this.fields.buffer.disabled = !this.hasLimit.has(this.fields.queue.value);
    const stated = algorithmPath(outline, at.flow);
    const flow = network.flows.find((one) => groupOf(one.name, outline) === at.flow);
    const algorithm = (stated && outline.string(stated)) ?? flow?.tcp?.congestion?.name;
    this.fields.algorithm.value = algorithm ?? "";
    this.fields.algorithm.disabled = !flow?.tcp;
    this.slider("flows", Number(outline.written(`flows.${at.flow}.count`) ?? 1), String);
  }

  menu(name, options, value) {
    const field = this.fields[name];
    if (options.join("\n") !== [...field.options].map((option) => option.value).join("\n")) {
      field.replaceChildren(...options.map((option) => new Option(option, option)));
    }
    field.value = value;
  }

  /** Places a slider, unless it is being moved, and writes its value beside it. */
  slider(name, value, text, otherwise) {
    const field = this.fields[name];
    const label = value === null || value === undefined ? (otherwise ?? "–") : text(value);
    this.form.querySelector(`output[for="${field.id}"]`).textContent = label;
    field.setAttribute("aria-valuetext", label);
    if (value === null || value === undefined) return;
    const step = name === "flows" ? value : stepAt(name, value);
    if (document.activeElement !== field || Math.abs(Number(field.value) - step) > 2) field.value = step;
  }
}

/** The name that the text gives a flow: that of its group, if it is a member of one. */
export function groupOf(name, outline) {
  const group = name.replace(/-[0-9]+$/, "");
  return outline.get(`flows.${name}`) || !outline.get(`flows.${group}.count`) ? name : group;
}
