// The places of events and answers in the memory of the engine: the structs of the C interface, version 1, whose fields have
// 4 or 8 bytes and no gaps. The names are those of the header dumbbell.h.

/** Numbers of what the engine asks for; an event has the number of its name in `HOOKS`. */
export const OPERATIONS = { start: 9, probe: 10, copy: 11, release: 12 };

export const HOOKS = [
  "on_ack",
  "on_congestion",
  "on_duplicate_ack",
  "on_loss",
  "on_recovery_enter",
  "on_recovery_exit",
  "on_undo",
  "on_restart",
  "on_sent",
];

/** Places in the buffer of a call, in bytes. */
export const PLACES = { connection: 0, event: 128, window: 256, answer: 280, parameters: 288, text: 800, end: 2048 };

/** Fields by their kinds: `f` a number, `u` a whole number of 64 bits, `i` one of 32, `b` true or false, `n` none if infinite,
 * `z` none if 0, `s` a signal. */
export const STRUCTS = {
  setup: [
    ["now", "f"],
    ["mss", "f"],
    ["initial_window", "f"],
    ["initial_ssthresh", "f"],
    ["seed", "u"],
    ["is_ecn_capable", "b"],
  ],
  connection: [
    ["now", "f"],
    ["mss", "f"],
    ["snd_una", "u"],
    ["snd_nxt", "u"],
    ["flight_size", "f"],
    ["in_flight", "f"],
    ["max_window", "f"],
    ["growth_limit", "f"],
    ["loss_window", "f"],
    ["srtt", "n"],
    ["min_rtt", "n"],
    ["delivered", "u"],
    ["lost", "u"],
    ["marked", "u"],
    ["round", "u"],
    ["is_app_limited", "b"],
  ],
  ack: [
    ["ack", "u"],
    ["acked", "u"],
    ["newly_delivered", "u"],
    ["newly_lost", "u"],
    ["newly_marked", "u"],
    ["rtt", "n"],
    ["delivery_rate", "z"],
    ["in_flight_after", "f"],
    ["rate_is_app_limited", "b"],
    ["is_round_start", "b"],
    ["is_cwnd_limited", "b"],
    ["in_recovery", "b"],
    ["is_ecn_echo", "b"],
  ],
  congestion: [
    ["signal", "s"],
    ["restarts", "b"],
    ["retransmitted_before", "b"],
  ],
  segment: [
    ["seq", "u"],
    ["sent_at", "f"],
    ["bytes", "i"],
    ["is_retransmission", "b"],
  ],
  exit: [["kept_inflation", "f"]],
  undo: [
    ["cwnd", "f"],
    ["ssthresh", "f"],
    ["signal", "s"],
  ],
  restart: [
    ["idle", "f"],
    ["timeout", "f"],
  ],
};

/** The struct of each event, in the order of `HOOKS`. */
export const EVENTS = [
  "ack",
  "congestion",
  "ack",
  "segment",
  null,
  "exit",
  "undo",
  "restart",
  "segment",
];

const SIGNALS = ["fast-retransmit", "ecn-echo", "restart", "timeout"];

const READERS = {
  f: (view, at) => view.getFloat64(at, true),
  n: (view, at) => {
    const value = view.getFloat64(at, true);
    return value === Infinity ? null : value;
  },
  z: (view, at) => view.getFloat64(at, true) || null,
  u: (view, at) => view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32,
  i: (view, at) => view.getUint32(at, true),
  b: (view, at) => view.getUint32(at, true) !== 0,
  s: (view, at) => SIGNALS[view.getUint32(at, true)],
};
const SIZES = { f: 8, n: 8, z: 8, u: 8, i: 4, b: 4, s: 4 };

/** The size of a struct, in bytes. */
export const sizeOf = (name) => {
  const size = STRUCTS[name].reduce((sum, [, kind]) => sum + SIZES[kind], 0);
  return Math.ceil(size / 8) * 8;
};

/** For each struct, its fields with their readers and places. */
const FIELDS = Object.fromEntries(
  Object.entries(STRUCTS).map(([name, fields]) => {
    let at = 0;
    const placed = fields.map(([field, kind]) => {
      const one = [field, READERS[kind], at];
      at += SIZES[kind];
      return one;
    });
    return [name, placed];
  }),
);

/** Reads the struct at a place into an object. */
export function readInto(object, name, view, at) {
  for (const [field, read, place] of FIELDS[name]) object[field] = read(view, at + place);
  return object;
}
