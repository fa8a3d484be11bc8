// Five plots over one time axis: window, queue, goodput, round-trip time and losses, with a common cursor and zoom.
import uPlot from "uplot";

export const PLOTS = [
  { id: "window", title: "Window", unit: "segments", quantities: ["cwnd"], of: "flow" },
  { id: "queue", title: "Queue", unit: "packets", quantities: ["backlog"], of: "link" },
  { id: "goodput", title: "Goodput", unit: "Mbit/s", quantities: ["delivered"], of: "flow", scale: 8e-6, isRate: true },
  { id: "rtt", title: "Round-trip time", unit: "ms", quantities: ["rtt"], of: "flow", scale: 1e3 },
  { id: "losses", title: "Losses and marks", unit: "packets so far", quantities: ["drops", "marks"], of: "link" },
];

const COLOURS = [
  "#3366cc",
  "#d9480f",
  "#2b8a3e",
  "#9c36b5",
  "#c92a2a",
  "#0b7285",
  "#e67700",
  "#5f3dc4",
  "#495057",
  "#a61e4d",
];
const DARK_COLOURS = [
  "#74a9ff",
  "#ff922b",
  "#69db7c",
  "#da77f2",
  "#ff8787",
  "#3bc9db",
  "#ffd43b",
  "#9775fa",
  "#ced4da",
  "#f783ac",
];
/** The colours of flows. */
export const coloursOf = (isDark) => (isDark ? DARK_COLOURS : COLOURS);
const HEIGHT = 150;
/** Values of goodput over the width of a plot. */
const INTERVALS = 100;

/** Which curves the plots need of results: for each plot, the recordings by name. Of links, those with any value. */
export function seriesOf(results) {
  const own = results.traces.map((trace, index) => ({ ...trace, index }));
  return PLOTS.map((plot) => {
    const chosen = own.filter(
      (trace) => plot.quantities.includes(trace.quantity) && !trace.has_rows && trace.samples > 0,
    );
    // A scenario may probe the same quantity; what the page adds comes last.
    const byName = new Map(chosen.map((trace) => [`${trace.name} ${trace.quantity}`, trace]));
    return [...byName.values()];
  });
}

/** Values of several step functions at the union of their times. */
export function merged(curves) {
  const times = Float64Array.from(curves.flatMap((curve) => [...curve.times])).sort();
  const union = times.filter((time, place) => place === 0 || time !== times[place - 1]);
  const columns = curves.map((curve) => {
    let next = 0;
    let value = null;
    return Array.from(union, (time) => {
      while (next < curve.times.length && curve.times[next] <= time) {
        value = curve.values[next];
        next += 1;
      }
      return value;
    });
  });
  return [Array.from(union), ...columns];
}

export class Plots {
  /** `ask(wanted)` returns curves of the engine; `onPick({time, flow, run})` is called for a click on a point of a curve. */
  constructor(container, ask, onPick) {
    this.onPick = onPick;
    this.container = container;
    this.ask = ask;
    this.runs = [];
    this.charts = [];
    this.span = null;
    this.turn = 0;
    container.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.resize()).observe(container);
  }

  /** Shows runs: `[{results, run, label}]`, the last one first. The zoom remains if the run is as long as before. */
  async show(runs, isDark) {
    const length = Math.max(...runs.map(({ results }) => results.simulated_s));
    if (length !== this.length) this.span = null;
    [this.runs, this.length, this.isDark] = [runs, length, isDark];
    await this.refresh();
  }

  get visible() {
    return this.span ?? [0, this.length];
  }

  /** Draws the visible part anew. Of several requests, only the last one is drawn. */
  async refresh() {
    this.turn += 1;
    const turn = this.turn;
    const [from, until] = this.visible;
    const intervals = Math.max(100, Math.round(this.container.clientWidth - 60));
    const chosen = this.runs
      .flatMap(({ results, run, label }) =>
        seriesOf(results).map((traces, place) => traces.map((trace) => ({ place, trace, run, label }))),
      )
      .flat();
    const wanted = chosen.map(({ place, trace, run }) => {
      const isRate = PLOTS[place].isRate;
      return {
        what: isRate ? "growth" : "trace",
        run,
        index: trace.index,
        from,
        until,
        intervals: isRate ? INTERVALS : intervals,
      };
    });
    const curves = await this.ask(wanted);
    if (turn !== this.turn) return;
    const byPlot = PLOTS.map(() => []);
    chosen.forEach((one, index) => {
      const factor = PLOTS[one.place].scale ?? 1;
      const { times, values } = completed(curves[index], PLOTS[one.place], this.visible);
      byPlot[one.place].push({ ...one, times, values: values.map((value) => value * factor) });
    });
    this.draw(byPlot.map((series) => series.filter(isOfInterest)));
  }

  draw(byPlot) {
    this.charts.forEach((chart) => chart.destroy());
    this.container.replaceChildren();
    const style = getComputedStyle(this.container);
    this.charts = PLOTS.map((plot, place) => {
      const figure = document.createElement("figure");
      figure.id = `plot-${plot.id}`;
      figure.setAttribute("role", "img");
      this.container.append(figure);
      const series = byPlot[place];
      figure.setAttribute("aria-label", summary(plot, series, this.visible));
      const caption = document.createElement("figcaption");
      caption.textContent = `${plot.title} (${plot.unit})`;
      figure.append(caption);
      if (plot.id === "losses" && series.length === 0)
        caption.textContent = "Losses and marks: none in the links that are drawn";
      const data = series.length ? merged(series) : [[...this.visible]];
      const chart = new uPlot(this.options(plot, series, style), data, figure);
      chart.over.addEventListener("click", (event) => this.pick(chart, series, event));
      return chart;
    });
  }

  options(plot, series, style) {
    const colours = coloursOf(this.isDark);
    const axis = {
      stroke: style.getPropertyValue("--ink"),
      grid: { stroke: style.getPropertyValue("--grid"), width: 1 },
    };
    const stepped = plot.isRate ? undefined : uPlot.paths.stepped({ align: 1 });
    const names = [...new Set(series.map(({ trace }) => trace.name))];
    const shown = (_, value) => (Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "–");
    return {
      width: Math.max(240, this.container.clientWidth),
      height: HEIGHT,
      cursor: { y: false, sync: { key: "lab" }, drag: { x: true, y: false, setScale: false } },
      legend: { live: true },
      scales: { x: { time: false, range: () => this.visible }, y: { range: (_, low, high) => [0, top(low, high)] } },
      axes: [
        { ...axis, size: 28 },
        { ...axis, size: 52 },
      ],
      hooks: { setSelect: [(chart) => this.select(chart)] },
      series: [
        { label: "time (s)", value: shown },
        ...series.map(({ trace, label, run }) => ({
          label: `${label}${trace.name}${plot.quantities.length > 1 ? ` ${trace.quantity}` : ""}`,
          stroke: colours[(names.indexOf(trace.name) + (trace.quantity === "marks" ? 5 : 0)) % colours.length],
          width: 1.4,
          dash: run === 1 ? [6, 4] : undefined,
          points: { show: false },
          paths: stepped,
          value: shown,
        })),
      ],
    };
  }

  /** A click: the time, and the curve of a flow that is nearest. Of a link's curves, there is none. */
  pick(chart, series, { offsetX, offsetY }) {
    if (chart.select.width >= 4 || !this.length) return;
    const index = chart.posToIdx(offsetX);
    const distance = (place) => {
      const value = chart.data[place + 1][index];
      return Number.isFinite(value) ? Math.abs(chart.valToPos(value, "y") - offsetY) : Infinity;
    };
    const ofFlows = series.map((_, place) => place).filter((place) => PLOTS[series[place].place].of === "flow");
    const nearest = ofFlows.reduce((best, place) => (distance(place) < distance(best) ? place : best), ofFlows[0]);
    const chosen = series[nearest];
    this.onPick({ time: chart.posToVal(offsetX, "x"), flow: chosen?.trace.name, run: chosen?.run ?? 0 });
  }

  /** Zooms to what was selected with the pointer. */
  select(chart) {
    const { left, width } = chart.select;
    if (width < 4) return;
    this.zoom([chart.posToVal(left, "x"), chart.posToVal(left + width, "x")]);
  }

  /** Zooms to a part, or to the whole run. */
  zoom(span) {
    if (!this.length) return;
    if (span) {
      const width = Math.min(this.length, Math.max(span[1] - span[0], this.length / 1e6));
      const from = Math.min(Math.max(0, span[0]), this.length - width);
      this.span = width >= this.length ? null : [from, from + width];
    } else {
      this.span = null;
    }
    this.refresh();
  }

  /** Zooms by a factor around the middle, and moves by a share of the width. */
  shift(factor, share) {
    const [from, until] = this.visible;
    const width = (until - from) * factor;
    const middle = (from + until) / 2 + share * (until - from);
    this.zoom([middle - width / 2, middle + width / 2]);
  }

  onKey(event) {
    const keys = { "+": [0.5, 0], "=": [0.5, 0], "-": [2, 0], ArrowLeft: [1, -0.25], ArrowRight: [1, 0.25] };
    if (event.key === "0" || event.key === "Home") this.zoom(null);
    else if (keys[event.key]) this.shift(...keys[event.key]);
    else return;
    event.preventDefault();
  }

  resize() {
    const width = Math.max(240, this.container.clientWidth);
    for (const chart of this.charts) if (chart.width !== width) chart.setSize({ width, height: HEIGHT });
  }
}

/** A step function over the whole visible part: queues and counts begin at zero, the last value holds to the end. */
function completed({ times, values }, { of, isRate }, [from, until]) {
  const [allTimes, allValues] = [[...times], [...values]];
  if (of === "link" && !(allTimes[0] <= from)) {
    allTimes.unshift(from);
    allValues.unshift(0);
  }
  if (!isRate && allTimes.at(-1) < until) {
    allTimes.push(until);
    allValues.push(allValues.at(-1));
  }
  return { times: allTimes, values: allValues };
}

/** True for a curve that is not zero all the time; of a run, links without a queue tell nothing. */
function isOfInterest({ place, values }) {
  return PLOTS[place].of === "flow" || values.some((value) => value !== 0);
}

function top(low, high) {
  return high > 0 ? high * 1.08 : 1;
}

/** What a plot shows, for screen readers. */
function summary(plot, series, [from, until]) {
  const one = ({ trace, label, values }) => {
    const known = values.filter((value) => Number.isFinite(value));
    const [low, high] = [known.reduce((a, b) => Math.min(a, b), Infinity), known.reduce((a, b) => Math.max(a, b), 0)];
    return known.length
      ? `${label}${trace.name} from ${low.toPrecision(3)} to ${high.toPrecision(3)}`
      : `${label}${trace.name}`;
  };
  const what = series.length ? series.map(one).join("; ") : "nothing";
  return `${plot.title} in ${plot.unit}, from ${from.toPrecision(3)} s to ${until.toPrecision(3)} s: ${what}`;
}
