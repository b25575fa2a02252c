// Elements from plain values. Text is always inserted as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element. `props`: `class`, `on` (listeners), `vars` (CSS variables), `data`, properties and attributes by name. */
export function h(tag, props, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function s(tag, props, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) put(element, name, value);
  add(element, children);
  return element;
}

function put(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name === "class") element.setAttribute("class", value);
  else if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
  else if (name === "vars") for (const [key, held] of Object.entries(value)) element.style.setProperty(key, String(held));
  else if (name === "data") Object.assign(element.dataset, value);
  else if (name === "value" || name === "checked") element[name] = value;
  else element.setAttribute(name, value === true ? "" : String(value));
}

/** Append what is given; empty values are left out, lists are taken apart. */
export function add(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false && child !== "") element.append(child);
  }
  return element;
}

/** Put `children` in place of what is there. */
export function fill(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

const SHAPES = {
  chat: "M4 5h16v11H9l-5 4z",
  memories: "M5 4h11l3 3v13H5zM9 10h6M9 14h6",
  tiers: "M4 7l8-4 8 4-8 4zM4 12l8 4 8-4M4 17l8 4 8-4",
  graph: "M6 7a2 2 0 1 0 .01 0M18 5a2 2 0 1 0 .01 0M12 17a2 2 0 1 0 .01 0M8 9l9-2M7 11l4.5 7M17.5 9l-4.5 9",
  time: "M12 3a9 9 0 1 0 .01 0M12 7v5l3.5 2",
  devices: "M3 5h12v9H3zM7 18h4M9 14v4M17 9h4v11h-4z",
  jobs: "M9 4h6v3H9zM6 6H5v14h14V6h-1M9 14l2 2 4-4",
  garden: "M12 21v-9M12 12c0-4 2.5-7 7-7 0 4.5-3 7-7 7M12 15c0-3-2-5.5-6.5-5.5C5.5 13 8 15 12 15",
  charts: "M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6",
  import: "M12 15V4M8 8l4-4 4 4M4 15v5h16v-5",
  export: "M12 4v11M8 11l4 4 4-4M4 15v5h16v-5",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4",
  search: "M11 5a6 6 0 1 0 .01 0M16 16l4 4",
  sun: "M12 8a4 4 0 1 0 .01 0M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M19 5l-1.5 1.5M6.5 17.5L5 19",
  moon: "M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10z",
  send: "M4 12l16-8-6 16-3-6z",
  stop: "M6 6h12v12H6z",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  close: "M6 6l12 12M18 6L6 18",
  edit: "M4 20h4L19 9l-4-4L4 16z",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  undo: "M9 8L4 12l5 4M4 12h10a5 5 0 0 1 5 5v2",
  retry: "M20 5v5h-5M20 10a8 8 0 1 0 0 5",
  warn: "M12 4L2.5 20h19zM12 10v5M12 17.5v.5",
  check: "M4 12l5 5L20 6",
  eye: "M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12zM12 9a3 3 0 1 0 .01 0",
  mask: "M3 9c3-1.5 6-1.5 9 0 3-1.5 6-1.5 9 0 0 6-2 8-5 8-2 0-3-2-4-2s-2 2-4 2c-3 0-5-2-5-8zM7 12h2M15 12h2",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  left: "M15 5l-7 7 7 7",
  person: "M12 4a4 4 0 1 0 .01 0M4 21c1-5 4-7 8-7s7 2 8 7",
  bulb: "M9 18h6M10 21h4M12 3a6 6 0 0 0-3.5 11v2h7v-2A6 6 0 0 0 12 3z",
  link: "M9 15l6-6M8 11l-3 3a3.5 3.5 0 0 0 5 5l3-3M16 13l3-3a3.5 3.5 0 0 0-5-5l-3 3",
};

/** A line drawing; it says nothing to a screen reader, the text beside it does. */
export function icon(name, small = false) {
  return s(
    "svg",
    { class: small ? "icon small-icon" : "icon", viewBox: "0 0 24 24", "aria-hidden": "true" },
    s("path", { d: SHAPES[name] }),
  );
}

/** A button. `options`: `icon`, `kind` (main-action, danger, plain), `label` for one without text, and attributes. */
export function button(text, click, options = {}) {
  const { icon: shape, kind = "", label, ...rest } = options;
  return h(
    "button",
    {
      type: "button",
      class: `button ${kind} ${text ? "" : "icon-only"}`,
      "aria-label": label,
      title: text ? undefined : label,
      on: { click },
      ...rest,
    },
    shape && icon(shape),
    text && h("span", {}, text),
  );
}

/** A labelled switch. */
export function toggle(label, checked, change) {
  const box = h("input", { type: "checkbox", role: "switch", checked, "aria-label": label, on: { change: () => change(box.checked) } });
  return h("label", { class: "switch" }, box, h("span", {}, label));
}

let fields = 0;

/** A control under its label. */
export function field(label, control, hint = "") {
  control.id ||= `field-${++fields}`;
  const note = hint && h("p", { class: "hint", id: `${control.id}-hint` }, hint);
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, note);
}

/** A list of choices. `choices`: [value, text] each. */
export function select(label, choices, value, change) {
  const options = choices.map(([held, text]) => h("option", { value: held, selected: held === value }, text));
  const box = h("select", { class: "input", "aria-label": label, on: { change: () => change(box.value) } }, options);
  return box;
}

/** A few choices side by side, one of them chosen. */
export function tabs(label, choices, value, change) {
  const buttons = choices.map(([held, text, number]) =>
    h(
      "button",
      { type: "button", "aria-pressed": String(held === value), data: { value: held }, on: { click: () => choose(held) } },
      text,
      number !== undefined && h("span", { class: "number" }, number),
    ),
  );
  const choose = (held) => {
    for (const each of buttons) each.setAttribute("aria-pressed", String(each.dataset.value === held));
    change(held);
  };
  return h("div", { class: "tabs", role: "group", "aria-label": label }, buttons);
}

/** What an empty place says: what belongs here and how to get it. */
export function empty(shape, title, text, ...actions) {
  return h(
    "div",
    { class: "empty" },
    h("div", { class: "picture" }, icon(shape)),
    h("h2", {}, title),
    h("p", {}, text),
    actions.length > 0 && h("div", { class: "row" }, actions),
  );
}

/** The head of a view: its title, a line on what it is, and what can be done. */
export function head(title, text, ...actions) {
  return h("div", { class: "head" }, h("div", {}, h("h1", {}, title), h("p", {}, text)), h("div", { class: "controls" }, actions));
}

/** A box that scrolls sideways, by keyboard too. */
export function scrollBox(label, ...children) {
  return h("div", { class: "card scroll-x", tabindex: "0", role: "region", "aria-label": label }, children);
}

/** A line that is 0..1 full. */
export function bar(share, large = false) {
  return h(
    "span",
    { class: large ? "bar large" : "bar", "aria-hidden": "true" },
    h("i", { vars: { "--share": Math.max(0, Math.min(1, share || 0)) } }),
  );
}
