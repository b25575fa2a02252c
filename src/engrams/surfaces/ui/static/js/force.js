// Force-directed layout: links pull, nodes push, the centre holds; for a few hundred nodes.

const PUSH = 5200;
const PULL = 0.035;
const LENGTH = 80;
const MIDDLE = 0.012;
const SLOW = 0.82;
const COOL = 0.986;
const COLD = 0.02;

export class Layout {
  /** `nodes` get x, y; with a `mass` (1 without) they push harder; `edges` are [node, node, weight]. Positions that nodes have already are kept. `wide`: width to height. */
  constructor(nodes, edges, wide = 1) {
    this.wide = Math.max(0.5, Math.min(2, wide));
    this.nodes = nodes;
    this.edges = edges;
    this.heat = 1;
    nodes.forEach((node, at) => {
      const angle = at * 2.399963;
      const far = 16 * Math.sqrt(at + 1);
      node.x ??= far * Math.cos(angle);
      node.y ??= far * Math.sin(angle);
      node.vx = 0;
      node.vy = 0;
      node.degree = 0;
    });
    for (const [a, b] of edges) {
      a.degree += 1;
      b.degree += 1;
    }
  }

  get settled() {
    return this.heat < COLD;
  }

  warm(heat = 0.4) {
    this.heat = Math.max(this.heat, heat);
  }

  /** One step; a node with `held` stays where it is. */
  step() {
    const { nodes, heat } = this;
    for (let i = 0; i < nodes.length; i += 1) {
      for (let j = i + 1; j < nodes.length; j += 1) this.#push(nodes[i], nodes[j]);
    }
    for (const [a, b, weight] of this.edges) this.#pull(a, b, weight);
    for (const node of nodes) {
      node.vx = (node.vx - (node.x * MIDDLE) / this.wide) * SLOW;
      node.vy = (node.vy - node.y * MIDDLE * this.wide) * SLOW;
      if (node.held) continue;
      const speed = Math.hypot(node.vx, node.vy);
      const most = Math.min(1, 24 / (speed || 1)) * heat;
      node.x += node.vx * most;
      node.y += node.vy * most;
    }
    this.heat *= COOL;
  }

  #push(a, b) {
    const dx = a.x - b.x || (Math.random() - 0.5) * 0.1;
    const dy = a.y - b.y || (Math.random() - 0.5) * 0.1;
    const square = Math.max(dx * dx + dy * dy, 60);
    if (square > 160_000) return;
    const force = (PUSH * (a.mass ?? 1) * (b.mass ?? 1)) / square / Math.sqrt(square);
    a.vx += dx * force;
    a.vy += dy * force;
    b.vx -= dx * force;
    b.vy -= dy * force;
  }

  #pull(a, b, weight) {
    const dx = b.x - a.x;
    const dy = b.y - a.y;
    const far = Math.hypot(dx, dy) || 1;
    const force = ((far - LENGTH) * PULL * (0.5 + 0.5 * Math.min(1, weight))) / far / Math.sqrt(Math.min(a.degree, b.degree) || 1);
    a.vx += dx * force;
    a.vy += dy * force;
    b.vx -= dx * force;
    b.vy -= dy * force;
  }
}
