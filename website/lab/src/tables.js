// Results as tables, with the names of the columns of the Python package.

const FLOWS = [
  "name",
  "goodput_bps",
  "rtt_mean_s",
  "rtt_min_s",
  "segments_sent",
  "segments_retransmitted",
  "segments_lost",
  "timeouts",
];
const LINKS = [
  "name",
  "utilization",
  "backlog_mean_packets",
  "backlog_max_packets",
  "wait_mean_s",
  "drops_queue",
  "drops_early",
  "marks",
];
const MOST_ROWS = 50;

function shown(value) {
  if (value === null) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) >= 1e4 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
}

function table({ columns, rows }, caption, chosen) {
  const places = (chosen ?? columns).map((name) => columns.indexOf(name)).filter((place) => place >= 0);
  const made = document.createElement("table");
  made.createCaption().textContent = caption;
  const head = made.createTHead().insertRow();
  for (const place of places) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = columns[place];
    head.append(cell);
  }
  const body = made.createTBody();
  for (const row of rows.slice(0, MOST_ROWS)) {
    const line = body.insertRow();
    for (const place of places) {
      const cell = document.createElement(columns[place] === "name" ? "th" : "td");
      if (columns[place] === "name") cell.scope = "row";
      cell.textContent = shown(row[place]);
      line.append(cell);
    }
  }
  const holder = document.createElement("div");
  holder.className = "scrolling";
  holder.tabIndex = 0;
  holder.setAttribute("role", "region");
  holder.setAttribute("aria-label", caption);
  holder.append(made);
  if (rows.length > MOST_ROWS) {
    const more = document.createElement("p");
    more.textContent = `The first ${MOST_ROWS} of ${rows.length} rows; the CSV has all.`;
    holder.append(more);
  }
  return holder;
}

/** Fills an element with the tables of runs. */
export function showTables(element, runs, isWhole) {
  element.replaceChildren(
    ...runs.flatMap(({ results, label }) => [
      table(results.flows, `${label}Flows`, isWhole ? null : FLOWS),
      table(results.links, `${label}Links`, isWhole ? null : LINKS),
    ]),
  );
}

/** A table as CSV. */
export function csv({ columns, rows }) {
  const cell = (value) => {
    const text = value === null ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows]
    .map((row) => row.map(cell).join(","))
    .join("\n")
    .concat("\n");
}
