// Why a sender did what it did: the entries of its journal around a time, in the words of the Python package.

const CAUSES = {
  handshake: "the connection request was not answered in time",
  duplicate_acks: "fast retransmit after three duplicate ACKs",
  fine_timeout: "the fine timeout of Vegas",
  partial_ack: "a partial acknowledgement",
  sack: "a hole between SACK blocks",
  rack: "RACK: data sent later was delivered",
  tail_probe: "tail loss probe",
  timeout: "retransmission timeout",
};

const OCCASIONS = {
  ack: "acknowledgement",
  duplicate_ack: "duplicate ACK",
  timer: "timer",
  sent: "transmission",
  application: "action of the application",
};

const LIMITS = {
  application_limited: "nothing to send: only the application limits the sender",
  application_unlimited: "the application no longer limits the sender",
};

/** Width of what is shown around a time, in s. */
export const WIDTH = 0.2;
const MOST_ROWS = 400;

const digits = (value) => String(Number(value.toPrecision(6)));

function change(row, name, before, after, scale, unit) {
  const [was, now] = [row[before], row[after]];
  if (was === now) return "";
  // Only a threshold is missing while it is unlimited.
  const nothing = name === "ssthresh" ? "unlimited" : "none";
  const [from, to] = [was, now].map((value) => (value === null ? nothing : digits(value * scale)));
  return `${name} ${from} → ${to} ${unit}`.trimEnd();
}

function ofAck(row) {
  const acked = row.end - row.seq;
  return [
    `up to byte ${row.end}`,
    acked ? `${acked} bytes acknowledged` : row.duplicate_acks ? `number ${row.duplicate_acks}` : "",
    row.sack ? `SACK ${row.sack.replaceAll("-", "–")}` : "",
    row.duplicate_sack ? `arrived twice ${row.duplicate_sack.replaceAll("-", "–")}` : "",
    row.ecn_echo ? "ECN echo" : "",
    row.rtt_s === null ? "" : `RTT ${(row.rtt_s * 1e3).toFixed(3)} ms`,
    row.delivery_rate_bps === null ? "" : `delivery rate ${Number((row.delivery_rate_bps * 1e-6).toPrecision(4))} Mbit/s`,
    row.newly_lost_bytes ? `${row.newly_lost_bytes} bytes considered lost` : "",
    `${row.in_flight_bytes} bytes in flight`,
    row.deadline_s === null ? "" : `RTO at ${row.deadline_s.toFixed(3)} s`,
  ];
}

function ofDecision(row, { mss, quantities }) {
  const segments = 1 / mss;
  return [
    `on ${OCCASIONS[row.cause] ?? row.cause}`,
    change(row, "cwnd", "cwnd_before_bytes", "cwnd_bytes", segments, "segments"),
    change(row, "inflation", "inflation_before_bytes", "inflation_bytes", segments, "segments"),
    change(row, "ssthresh", "ssthresh_before_bytes", "ssthresh_bytes", segments, "segments"),
    change(row, "pacing rate", "pacing_rate_before_bps", "pacing_rate_bps", 1e-6, "Mbit/s"),
    ...Object.entries(quantities).map(([name, unit]) =>
      change(row, name, `${name}_before`, name, 1, unit === "-" ? "" : unit),
    ),
  ];
}

function parts(row, of) {
  const bytes = `bytes ${row.seq}–${row.end}`;
  const { kind } = row;
  if (kind === "ack") return ofAck(row);
  if (kind === "decision") return ofDecision(row, of);
  if (kind === "retransmission") return [CAUSES[row.cause] ?? row.cause, bytes];
  if (kind === "sent" && row.seq === row.end) return ["connection request"];
  if (kind === "sent") return [`${row.segments} segment${row.segments === 1 ? "" : "s"}`, bytes];
  if (kind.startsWith("timer_")) {
    const until = row.deadline_s === null ? "" : `, until ${row.deadline_s.toFixed(6)} s`;
    return [row.cause.replaceAll("_", " ") + until];
  }
  if (LIMITS[kind]) return [LIMITS[kind]];
  return [change(row, "cwnd", "cwnd_before_bytes", "cwnd_bytes", 1 / of.mss, "segments")];
}

/** The entries in words: `{time, kind, text}`. Windows are in segments. */
export function lines(explanation) {
  const { columns, rows } = explanation;
  const records = rows.map((row) => Object.fromEntries(columns.map((name, place) => [name, row[place]])));
  const isOne = new Set(records.map((row) => row.connection)).size <= 1;
  return records.map((row) => {
    const isDuplicate = row.kind === "ack" && row.seq === row.end && row.duplicate_acks;
    const kind = row.kind === "ack" ? (isDuplicate ? "duplicate ACK" : "ACK") : row.kind.replaceAll("_", " ");
    const told = [...parts(row, explanation), isOne ? "" : `connection ${row.connection}`];
    return { time: row.time_s, kind, text: told.filter(Boolean).join(", ") };
  });
}

/** Shows entries as a table, and leads to the one nearest to a time. */
export function show(container, told, at) {
  const table = document.createElement("table");
  table.className = "entries";
  const head = table.createTHead().insertRow();
  for (const name of ["time (s)", "what", "numbers"]) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = name;
    head.append(cell);
  }
  const body = table.createTBody();
  const distance = ({ time }) => Math.abs(time - at);
  const nearest = told.reduce((best, line, place) => (distance(line) < distance(told[best]) ? place : best), 0);
  const first = Math.max(0, Math.min(nearest - MOST_ROWS / 2, told.length - MOST_ROWS));
  told.slice(first, first + MOST_ROWS).forEach(({ time, kind, text }, place) => {
    const row = body.insertRow();
    [time.toFixed(6), kind, text].forEach((value) => (row.insertCell().textContent = value));
    if (first + place === nearest) row.setAttribute("aria-current", "true");
  });
  container.replaceChildren(table);
  if (!told.length) container.textContent = "No entries: the sender learned and did nothing here.";
  const current = body.querySelector("[aria-current]");
  if (current) container.scrollTop = current.offsetTop - container.clientHeight / 2;
}
