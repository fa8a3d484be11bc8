// Quantities with units, as scenarios state them.

const RATES = { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "B/s": 8, "kB/s": 8e3, "KiB/s": 8192 };
const TIMES = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };

function amount(text, units) {
  const found = /^\s*([0-9][0-9_.eE+-]*)\s*([A-Za-z/]+)\s*$/.exec(text ?? "");
  const factor = found && units[found[2]];
  const value = factor ? Number(found[1].replaceAll("_", "")) * factor : NaN;
  return Number.isFinite(value) ? value : null;
}

/** Bits per second of a rate, or null. */
export const rateOf = (text) => amount(text, RATES);

/** Seconds of a time, or null. */
export const timeOf = (text) => amount(text, TIMES);

/** Packets of a limit such as `"75 packets"`, or null for bytes and `"unlimited"`. */
export const packetsOf = (text) => amount(text, { packets: 1, packet: 1 });

/** A number with three digits, without an exponent. */
export function rounded(value) {
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return String(Number(value.toFixed(Math.min(digits, 12))));
}

function inUnits(value, units) {
  const fitting = units.filter(([factor]) => value >= factor);
  const [factor, unit] = fitting.length ? fitting.at(-1) : units[0];
  return `${rounded(value / factor)} ${unit}`;
}

export const rateText = (bits) =>
  inUnits(bits, [
    [1, "bit/s"],
    [1e3, "kbit/s"],
    [1e6, "Mbit/s"],
    [1e9, "Gbit/s"],
  ]);

export const timeText = (seconds) =>
  inUnits(seconds, [
    [1e-3, "ms"],
    [1, "s"],
  ]);
