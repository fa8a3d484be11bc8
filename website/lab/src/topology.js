// The network as a drawing: nodes in layers along the links, and a line for each link beside that of the other direction.
import { rateText, rateOf, timeOf, timeText } from "./quantities.js";

const SVG = "http://www.w3.org/2000/svg";
const MOST_NODES = 60;

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** The layer of each node: its distance from the nodes that send, along the links. */
function layers(network) {
  const senders = new Set(network.flows.map((flow) => flow.from));
  const receivers = new Set(network.flows.map((flow) => flow.to));
  const first = network.nodes.filter((node) => senders.has(node) && !receivers.has(node));
  const layer = new Map((first.length ? first : network.nodes.slice(0, 1)).map((node) => [node, 0]));
  const queue = [...layer.keys()];
  while (queue.length) {
    const node = queue.shift();
    for (const link of network.links) {
      if (link.from === node && !layer.has(link.to)) {
        layer.set(link.to, layer.get(node) + 1);
        queue.push(link.to);
      }
    }
  }
  for (const node of network.nodes) if (!layer.has(node)) layer.set(node, 0);
  return layer;
}

/** Where nodes are: `{place, height}`, of a drawing so wide. */
export function places(network, width) {
  const layer = layers(network);
  const columns = [];
  for (const node of network.nodes) (columns[layer.get(node)] ??= []).push(node);
  const filled = columns.filter(Boolean);
  const tallest = Math.max(1, ...filled.map((column) => column.length));
  const height = Math.max(110, tallest * 48 + 24);
  const place = new Map();
  filled.forEach((column, across) => {
    const x = filled.length === 1 ? width / 2 : 34 + (across * (width - 68)) / (filled.length - 1);
    column.forEach((node, down) => place.set(node, [x, ((down + 0.5) * height) / column.length]));
  });
  return { place, height };
}

/** What a link is, for its label and for screen readers. */
function about(link) {
  const kind = link.queue?.kind ?? "droptail";
  const limit = link.queue?.limit ? `, ${link.queue.limit}` : "";
  const rate = rateOf(link.rate);
  const delay = timeOf(link.delay);
  const [shownRate, shownDelay] = [rate === null ? link.rate : rateText(rate), delay === null ? link.delay : timeText(delay)];
  return `${shownRate}, ${shownDelay}, ${kind}${limit}`;
}

/**
 * Draws a network into an SVG element. `onLink(name)` and `onFlow(name)` are called when a link or a sender is chosen,
 * by pointer or keyboard.
 */
export function draw(svg, network, selected, { onLink, onFlow }) {
  svg.replaceChildren();
  if (network.nodes.length > MOST_NODES) {
    svg.setAttribute("viewBox", "0 0 400 40");
    svg.append(element("text", { x: 200, y: 24, class: "note" }, `${network.nodes.length} nodes are too many to draw`));
    return;
  }
  const width = 420;
  const { place, height } = places(network, width);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const slowest = Math.min(...network.links.map((link) => rateOf(link.rate) ?? Infinity));
  for (const link of network.links) svg.append(drawnLink(link, place, { slowest, selected, onLink }));
  const senders = new Map(network.flows.map((flow) => [flow.from, flow.name]));
  for (const node of network.nodes) svg.append(drawnNode(node, place.get(node), senders.get(node), onFlow));
}

function drawnLink(link, place, { slowest, selected, onLink }) {
  const [[x1, y1], [x2, y2]] = [place.get(link.from), place.get(link.to)];
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  // The link in each direction is beside the middle, to its right.
  const [dx, dy] = [(-(y2 - y1) / length) * 4, ((x2 - x1) / length) * 4];
  const line = { x1: x1 + dx, y1: y1 + dy, x2: x2 + dx, y2: y2 + dy };
  const isSlow = rateOf(link.rate) === slowest;
  const group = element("g", {
    class: `link${isSlow ? " slow" : ""}${link.name === selected.link ? " selected" : ""}`,
    tabindex: "0",
    role: "button",
    "aria-pressed": String(link.name === selected.link),
    "aria-label": `Link ${link.name} from ${link.from} to ${link.to}: ${about(link)}`,
  });
  group.append(element("line", { ...line, class: "touch" }), element("line", { ...line, class: "wire" }));
  group.append(element("title", {}, `${link.name}: ${about(link)}`));
  if (link.name === selected.link) {
    const below = y1 + dy > 30 ? -8 : 18;
    group.append(element("text", { x: (x1 + x2) / 2, y: (y1 + y2) / 2 + below, class: "label" }, link.name));
  }
  choosable(group, () => onLink(link.name));
  return group;
}

function drawnNode(node, [x, y], flow, onFlow) {
  const group = element("g", { class: flow ? "node sender" : "node" });
  group.append(element("circle", { cx: x, cy: y, r: 15 }));
  // A long name is below the node.
  const shown = node.length > 14 ? `${node.slice(0, 13)}…` : node;
  group.append(element("text", { x, y: node.length > 4 ? y + 28 : y + 4 }, shown));
  group.append(element("title", {}, flow ? `${node}: flow ${flow}` : node));
  if (flow) {
    group.setAttribute("tabindex", "0");
    group.setAttribute("role", "button");
    group.setAttribute("aria-label", `Node ${node}, sender of flow ${flow}`);
    choosable(group, () => onFlow(flow));
  }
  return group;
}

function choosable(group, choose) {
  group.addEventListener("click", choose);
  group.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose();
    }
  });
}
