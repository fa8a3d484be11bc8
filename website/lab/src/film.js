// Packets in queues and on links as an animation, from the places where the engine saw them.
import { timeOf } from "./quantities.js";
import { places } from "./topology.js";

/** Numbers of a place: time, node, flow, kind, packet. */
const FIELDS = 5;
const WIDTH = 420;
/** How long a lost packet is shown, as a share of a second of the clock on the wall. */
const FADE = 0.5;
export const SPEEDS = [
  [1, "1×"],
  [0.3, "1/3×"],
  [0.1, "1/10×"],
  [0.03, "1/30×"],
  [0.01, "1/100×"],
  [0.001, "1/1000×"],
];
const ACKNOWLEDGEMENT = 2;

/**
 * The journeys of packets over links: `{link, flow, kind, from, sent, until}`: when it enters the link's queue, leaves it for
 * the pipe, and arrives. One that is lost has `isLost`, and `until` is when it entered.
 */
export function journeys(numbers, network) {
  const byEnds = new Map(network.links.map((link, place) => [`${link.from} ${link.to}`, place]));
  const delays = network.links.map((link) => timeOf(link.delay) ?? 0);
  const seen = new Map();
  const made = [];
  let last = 0;
  const leave = (before, at) => {
    const place = byEnds.get(`${network.nodes[before.node]} ${network.nodes[at.node]}`);
    if (place === undefined) return;
    made.push({ ...before, link: place, from: before.time, sent: Math.max(before.time, at.time - delays[place]), until: at.time });
  };
  for (let start = 0; start < numbers.length; start += FIELDS) {
    const [time, node, flow, kind, packet] = numbers.subarray(start, start + FIELDS);
    const at = { time, node, flow, kind };
    if (seen.has(packet)) leave(seen.get(packet), at);
    seen.set(packet, at);
    last = time;
  }
  // A packet that is seen no more, and not at its end, is lost, unless there was no time for it to arrive.
  const longest = Math.max(0, ...made.map((one) => one.until - one.from));
  for (const at of seen.values()) {
    const flow = network.flows[at.flow];
    const end = at.kind === ACKNOWLEDGEMENT ? flow?.from : flow?.to;
    if (flow && network.nodes[at.node] !== end && at.time < last - 2 * longest) made.push({ ...at, until: at.time, isLost: true });
  }
  return made.sort((a, b) => (a.from ?? a.time) - (b.from ?? b.time));
}

export class Film {
  /** `onTime(time, share)` is told where the animation is. */
  constructor(canvas, onTime) {
    [this.canvas, this.onTime] = [canvas, onTime];
    this.speed = 0.1;
    this.isPlaying = false;
  }

  /** Shows the part of a run from one time to another. */
  show(numbers, network, [from, until], colours) {
    [this.network, this.colours] = [network, colours];
    this.all = journeys(numbers, network);
    this.longest = this.all.reduce((most, one) => Math.max(most, one.until - (one.from ?? one.time)), 0);
    [this.from, this.until, this.at] = [from, until, from];
    this.layout = places(network, WIDTH);
    this.play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  }

  play(isPlaying) {
    this.isPlaying = isPlaying;
    cancelAnimationFrame(this.frame);
    let before = null;
    const step = (now) => {
      if (before !== null) this.at += ((now - before) / 1000) * this.speed;
      before = now;
      if (this.at > this.until) this.at = this.from;
      this.draw();
      if (this.isPlaying) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  /** Goes to a share of the part that is shown. */
  seek(share) {
    this.at = this.from + share * (this.until - this.from);
    if (!this.isPlaying) this.draw();
  }

  stop() {
    this.isPlaying = false;
    cancelAnimationFrame(this.frame);
  }

  /** The packets that are under way now. */
  current() {
    const { all, at } = this;
    const fade = FADE * this.speed;
    const begin = at - Math.max(this.longest, fade);
    let [low, high] = [0, all.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((all[middle].from ?? all[middle].time) < begin) low = middle + 1;
      else high = middle;
    }
    const found = [];
    for (let place = low; place < all.length && (all[place].from ?? all[place].time) <= at; place += 1) {
      if (at < all[place].until + (all[place].isLost ? fade : 0)) found.push(all[place]);
    }
    return found;
  }

  draw() {
    const { canvas, layout, network } = this;
    const ratio = window.devicePixelRatio || 1;
    const scale = (canvas.clientWidth / WIDTH) * ratio;
    [canvas.width, canvas.height] = [WIDTH * scale, layout.height * scale];
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    const style = getComputedStyle(canvas);
    const ink = (name) => style.getPropertyValue(name);
    for (const link of network.links) this.wire(pen, link, ink("--line"));
    const waiting = network.links.map(() => 0);
    for (const one of this.current()) this.packet(pen, one, waiting, ink("--error"));
    pen.textAlign = "center";
    pen.font = "11px sans-serif";
    for (const node of network.nodes) {
      const [x, y] = layout.place.get(node);
      [pen.fillStyle, pen.strokeStyle, pen.lineWidth] = [ink("--ground"), ink("--faint"), 1.5];
      pen.beginPath();
      pen.arc(x, y, 9, 0, 2 * Math.PI);
      pen.fill();
      pen.stroke();
      pen.fillStyle = ink("--ink");
      pen.fillText(node.length > 14 ? `${node.slice(0, 13)}…` : node, x, y + 24);
    }
    this.onTime(this.at, (this.at - this.from) / (this.until - this.from || 1));
  }

  /** Both ends of a link, beside the middle, with the direction along it and to its side. */
  ends(link) {
    const [[x1, y1], [x2, y2]] = [this.layout.place.get(link.from), this.layout.place.get(link.to)];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const along = [(x2 - x1) / length, (y2 - y1) / length];
    const side = [-along[1], along[0]];
    return { x1: x1 + 4 * side[0], y1: y1 + 4 * side[1], x2: x2 + 4 * side[0], y2: y2 + 4 * side[1], along, side };
  }

  wire(pen, link, colour) {
    const { x1, y1, x2, y2 } = this.ends(link);
    [pen.strokeStyle, pen.lineWidth] = [colour, 1];
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x2, y2);
    pen.stroke();
  }

  /** On its link, in the queue before it (a column of ten beside the node, then the next one), or lost. */
  packet(pen, one, waiting, lost) {
    pen.fillStyle = one.isLost ? lost : this.colours[one.flow % this.colours.length];
    const isWaiting = !one.isLost && this.at < one.sent;
    const size = one.kind === ACKNOWLEDGEMENT ? 2 : isWaiting ? 2.6 : 4;
    let [x, y] = [0, 0];
    if (one.isLost) {
      [x, y] = this.layout.place.get(this.network.nodes[one.node]);
      y -= 14 + (20 * (this.at - one.until)) / (FADE * this.speed);
    } else {
      const { x1, y1, x2, y2, along, side } = this.ends(this.network.links[one.link]);
      if (isWaiting) {
        const place = waiting[one.link];
        waiting[one.link] += 1;
        const [across, back] = [6 + 3.2 * (place % 10), 11 + 3.2 * Math.floor(place / 10)];
        [x, y] = [x1 + along[0] * back + side[0] * across, y1 + along[1] * back + side[1] * across];
      } else {
        const share = (this.at - one.sent) / (one.until - one.sent || 1);
        [x, y] = [x1 + (x2 - x1) * share, y1 + (y2 - y1) * share];
      }
    }
    pen.fillRect(x - size / 2, y - size / 2, size, size);
  }
}
