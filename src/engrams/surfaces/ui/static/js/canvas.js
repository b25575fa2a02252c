// The graph on a canvas: drawing, zoom, pan, and walking it with the keyboard.

import { Layout } from "./force.js";
import { short } from "./format.js";

const LEAST = 0.15;
const MOST = 5;
/** Pixels around a graph that is shown whole: for names, the buttons at the right and the legend. */
const EDGE = { left: 46, right: 76, top: 48, bottom: 88 };

export class GraphCanvas {
  /** `chosen(node)`: a node was selected (or null). `opened(node)`: it was asked for. */
  constructor(canvas, chosen, opened) {
    Object.assign(this, {
      canvas,
      chosen,
      opened,
      scale: 1,
      x: 0,
      y: 0,
      nodes: [],
      edges: [],
      selected: null,
      hovered: null,
      touches: new Map(),
    });
    this.context = canvas.getContext("2d");
    this.calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.watcher = new ResizeObserver(() => this.size());
    this.watcher.observe(canvas);
    this.themes = new MutationObserver(() => this.draw());
    this.themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    for (const name of ["pointerdown", "pointermove", "pointerup", "pointercancel", "pointerleave", "wheel", "dblclick", "keydown"])
      canvas.addEventListener(name, (event) => this[name](event), { passive: false });
  }

  end() {
    this.watcher.disconnect();
    this.themes.disconnect();
    cancelAnimationFrame(this.frame);
    this.over = true;
  }

  show(nodes, edges) {
    this.nodes = nodes;
    this.edges = edges;
    const wide = this.canvas.clientWidth / (this.canvas.clientHeight || 1) || 1;
    this.layout = new Layout(
      nodes,
      edges.map((edge) => [edge.from, edge.to, edge.weight]),
      wide,
    );
    this.selected = nodes.includes(this.selected) ? this.selected : null;
    for (let step = 0; step < (this.calm ? 400 : 120); step += 1) this.layout.step();
    this.size();
    this.fit();
    if (!this.calm) this.run();
  }

  run() {
    cancelAnimationFrame(this.frame);
    const turn = () => {
      if (this.over || this.layout.settled) return;
      this.layout.step();
      this.draw();
      this.frame = requestAnimationFrame(turn);
    };
    this.frame = requestAnimationFrame(turn);
  }

  size() {
    const ratio = devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.canvas;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.ratio = ratio;
    this.draw();
  }

  fit() {
    if (this.nodes.length === 0) return;
    const xs = this.nodes.map((node) => node.x);
    const ys = this.nodes.map((node) => node.y);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const { clientWidth, clientHeight } = this.canvas;
    const wide = clientWidth - EDGE.left - EDGE.right;
    const high = clientHeight - EDGE.top - EDGE.bottom;
    this.scale = Math.max(LEAST, Math.min(1.6, wide / (right - left || 1), high / (bottom - top || 1)));
    this.x = EDGE.left + wide / 2 - ((left + right) / 2) * this.scale;
    this.y = EDGE.top + high / 2 - ((top + bottom) / 2) * this.scale;
    this.draw();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.max(LEAST, Math.min(MOST, this.scale * factor));
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.draw();
  }

  select(node) {
    this.selected = node;
    this.chosen(node);
    this.draw();
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    const { context: pen, ratio = 1 } = this;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * this.x, ratio * this.y);
    const near = this.selected
      ? new Set(
          this.edges.filter((edge) => edge.from === this.selected || edge.to === this.selected).flatMap((edge) => [edge.from, edge.to]),
        )
      : null;
    for (const edge of this.edges) this.#edge(pen, edge, colour, near);
    for (const node of this.nodes) this.#node(pen, node, colour, near);
    this.#names(pen, colour, near);
  }

  #edge(pen, edge, colour, near) {
    const lit = !near || edge.from === this.selected || edge.to === this.selected;
    pen.globalAlpha = lit ? 0.75 : 0.15;
    pen.strokeStyle =
      edge.type === "contradicts"
        ? colour("bad")
        : edge.type === "supersedes"
          ? colour("warn")
          : lit && near
            ? colour("accent")
            : colour("line-strong");
    pen.lineWidth = (0.6 + Math.min(2, edge.weight)) / Math.sqrt(this.scale);
    pen.setLineDash(edge.type === "supersedes" ? [5, 4] : []);
    pen.beginPath();
    pen.moveTo(edge.from.x, edge.from.y);
    pen.lineTo(edge.to.x, edge.to.y);
    pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 1;
  }

  #node(pen, node, colour, near) {
    const size = radius(node);
    pen.globalAlpha = near && !near.has(node) && node !== this.selected ? 0.25 : node.faded ? 0.5 : 1;
    pen.fillStyle = colour(node.colour === "accent" ? "accent" : `${node.colour}-fill`);
    pen.beginPath();
    if (node.type === "memory" || node.type === "entity") pen.arc(node.x, node.y, size, 0, 7);
    else pen.roundRect(node.x - size, node.y - size, size * 2, size * 2, 3);
    pen.fill();
    pen.lineWidth = 1.5;
    pen.strokeStyle = colour("panel");
    pen.stroke();
    if (node === this.selected || node === this.hovered) {
      pen.lineWidth = 2.5 / this.scale;
      pen.strokeStyle = colour("ink");
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  #names(pen, colour, near) {
    const size = 11.5 / this.scale;
    pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
    pen.textAlign = "center";
    pen.lineJoin = "round";
    const taken = this.nodes.map((node) => [
      node.x - radius(node),
      node.y - radius(node),
      node.x + radius(node),
      node.y + radius(node),
      node,
    ]);
    const order = [...this.nodes].sort((a, b) => rank(b, this) - rank(a, this));
    for (const node of order) {
      const asked = node === this.selected || node === this.hovered || near?.has(node);
      if (near && !asked) continue;
      const text = short(node.label, asked ? 60 : 30);
      const wide = pen.measureText(text).width;
      const y = node.y + radius(node) + size * 1.15;
      const x = this.#inside(node.x, wide);
      const box = [x - wide / 2, y - size, x + wide / 2, y + size * 0.3];
      if (
        !asked &&
        taken.some((other) => other[4] !== node && box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])
      )
        continue;
      taken.push(box);
      pen.lineWidth = 3.5 / this.scale;
      pen.strokeStyle = colour("panel");
      pen.strokeText(text, x, y);
      pen.fillStyle = colour(asked ? "ink" : "ink-soft");
      pen.fillText(text, x, y);
    }
  }

  /** The middle of a name `wide`, moved so that the edge of the canvas does not cut it while its node is seen. */
  #inside(x, wide) {
    const left = (4 - this.x) / this.scale;
    const right = (this.canvas.clientWidth - 4 - this.x) / this.scale;
    if (x < left || x > right || right - left < wide) return x;
    return Math.max(left + wide / 2, Math.min(x, right - wide / 2));
  }

  // ---------------------------------------------------------------- pointer and keyboard

  #at(event) {
    const x = (event.offsetX - this.x) / this.scale;
    const y = (event.offsetY - this.y) / this.scale;
    let best = null;
    let least = 14 / this.scale;
    for (const node of this.nodes) {
      const far = Math.hypot(node.x - x, node.y - y) - radius(node);
      if (far < least) [best, least] = [node, far];
    }
    return best;
  }

  pointerdown(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.touches.set(event.pointerId, { x: event.offsetX, y: event.offsetY, moved: 0, node: this.touches.size ? null : this.#at(event) });
  }

  pointermove(event) {
    const touch = this.touches.get(event.pointerId);
    if (!touch) {
      const over = this.#at(event);
      this.canvas.classList.toggle("over", over !== null);
      if (over !== this.hovered) {
        this.hovered = over;
        this.draw();
      }
      return;
    }
    const [dx, dy] = [event.offsetX - touch.x, event.offsetY - touch.y];
    touch.moved += Math.hypot(dx, dy);
    if (this.touches.size === 2) {
      const other = [...this.touches.values()].find((each) => each !== touch);
      const before = Math.hypot(touch.x - other.x, touch.y - other.y) || 1;
      this.zoom(Math.hypot(event.offsetX - other.x, event.offsetY - other.y) / before, other.x, other.y);
    } else if (touch.node && touch.moved > 4) {
      touch.node.held = true;
      touch.node.x += dx / this.scale;
      touch.node.y += dy / this.scale;
      this.layout.warm();
      if (this.calm) this.draw();
      else this.run();
    } else if (!touch.node) {
      this.x += dx;
      this.y += dy;
      this.draw();
    }
    Object.assign(touch, { x: event.offsetX, y: event.offsetY });
  }

  pointerup(event) {
    const touch = this.touches.get(event.pointerId);
    this.touches.delete(event.pointerId);
    if (!touch) return;
    if (touch.node) touch.node.held = false;
    if (touch.moved <= 4) this.select(this.#at(event));
  }

  pointercancel(event) {
    this.touches.delete(event.pointerId);
  }

  pointerleave() {
    this.hovered = null;
    this.draw();
  }

  dblclick(event) {
    const node = this.#at(event);
    if (node) this.opened(node);
  }

  wheel(event) {
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY * 0.0016), event.offsetX, event.offsetY);
  }

  keydown(event) {
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (ways[event.key]) this.#walk(...ways[event.key]);
    else if (event.key === "Enter" && this.selected) this.opened(this.selected);
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "0") this.fit();
    else if (event.key === "Escape" && this.selected) this.select(null);
    else return;
    event.preventDefault();
  }

  /** To the nearest node in a direction. */
  #walk(dx, dy) {
    const from = this.selected ?? { x: 0, y: 0 };
    let best = null;
    let least = Infinity;
    for (const node of this.nodes) {
      const [x, y] = [node.x - from.x, node.y - from.y];
      const along = x * dx + y * dy;
      const far = along > 0 ? along + 2.5 * Math.abs(x * dy - y * dx) : Infinity;
      if (node !== from && far < least) [best, least] = [node, far];
    }
    if (best ?? this.nodes[0]) this.select(best ?? this.selected ?? this.nodes[0]);
  }
}

const radius = (node) =>
  node.memories ? 6 + Math.min(12, Math.sqrt(node.memories)) : (node.type === "memory" ? 5 : 6) + Math.min(6, Math.sqrt(node.degree ?? 0) * 1.4);
const rank = (node, picture) =>
  (node === picture.selected || node === picture.hovered ? 1000 : 0) + (node.type === "memory" ? 0 : 5) + (node.memories ?? node.degree ?? 0);
