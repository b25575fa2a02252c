// Render the Markdown that chat models write, built from elements.

import { button, h, scrollBox } from "./dom.js";
import { t } from "./i18n.js";
import { toast, withToast } from "./toast.js";

const SPANS = [
  [/`([^`\n]+)`/, (found) => h("code", {}, found[1])],
  [/\*\*([^\n]+?)\*\*/, (found) => h("strong", {}, spans(found[1]))],
  [/(?<![\w*])\*([^\s*][^*\n]*?)\*(?![\w*])/, (found) => h("em", {}, spans(found[1]))],
  [/\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/, (found) => link(found[2], found[1])],
  [/\bhttps?:\/\/[^\s<>"')\]]+/, (found) => link(found[0], found[0])],
];

function link(to, text) {
  return h("a", { href: to, target: "_blank", rel: "noopener noreferrer" }, text);
}

/** Inline marks of a line as elements. */
function spans(text) {
  let first = null;
  for (const [pattern, make] of SPANS) {
    const found = pattern.exec(text);
    if (found && (first === null || found.index < first.found.index)) first = { found, make };
  }
  if (first === null) return [text];
  const { found, make } = first;
  return [text.slice(0, found.index), make(found), ...spans(text.slice(found.index + found[0].length))].filter((part) => part !== "");
}

const FENCE = /^\s*```(\S*)/;
const BULLET = /^\s*[-*•]\s+(.*)/;
const NUMBERED = /^\s*\d+[.)]\s+(.*)/;
const HEADING = /^#{1,6}\s+(.*)/;
const TABLE_ROW = /^\s*\|(.*)\|\s*$/;
const TABLE_RULE = /^\s*\|?(\s*:?-+:?\s*\|)+\s*:?-*:?\s*$/;

const cells = (line) => TABLE_ROW.exec(line)[1].split("|").map((cell) => spans(cell.trim()));

/** A table of its rows: the first is the head. */
function table([head, ...rows]) {
  const body = rows.map((row) => h("tr", {}, cells(row).map((cell) => h("td", {}, cell))));
  const heading = h("tr", {}, cells(head).map((cell) => h("th", { scope: "col" }, cell)));
  return scrollBox(t("table"), h("table", { class: "plain-table" }, h("thead", {}, heading), h("tbody", {}, body)));
}

/** A block of code with a button that copies it. */
function codeBlock(code) {
  const copy = withToast(async () => {
    await navigator.clipboard.writeText(code);
    toast(t("copied"));
  });
  return h("div", { class: "code" }, h("pre", { tabindex: "0" }, h("code", {}, code)), button(t("copy"), copy, { kind: "plain" }));
}

/** Blocks of a text. */
export function renderMarkdown(text) {
  const lines = text.split("\n");
  const blocks = [];
  let at = 0;
  const run = (pattern) => {
    const items = [];
    for (let found; at < lines.length && (found = pattern.exec(lines[at])); at += 1) items.push(h("li", {}, spans(found[1])));
    return items;
  };
  while (at < lines.length) {
    const line = lines[at];
    if (FENCE.test(line)) {
      const code = [];
      for (at += 1; at < lines.length && !FENCE.test(lines[at]); at += 1) code.push(lines[at]);
      at += 1;
      blocks.push(codeBlock(code.join("\n")));
    } else if (startsTable(lines, at)) {
      const rows = [line];
      for (at += 2; at < lines.length && TABLE_ROW.test(lines[at]); at += 1) rows.push(lines[at]);
      blocks.push(table(rows));
    } else if (BULLET.test(line)) blocks.push(h("ul", {}, run(BULLET)));
    else if (NUMBERED.test(line)) blocks.push(h("ol", {}, run(NUMBERED)));
    else if (HEADING.test(line)) {
      blocks.push(h("p", {}, h("strong", {}, spans(HEADING.exec(line)[1]))));
      at += 1;
    } else if (line.trim() === "") at += 1;
    else
      blocks.push(
        h(
          "p",
          {},
          paragraph(
            lines,
            () => at++,
            () => at,
          ),
        ),
      );
  }
  return blocks;
}

const startsTable = (lines, at) => TABLE_ROW.test(lines[at]) && TABLE_RULE.test(lines[at + 1] ?? "");

function paragraph(lines, next, place) {
  const parts = [];
  while (place() < lines.length) {
    const line = lines[place()];
    if (line.trim() === "" || FENCE.test(line) || BULLET.test(line) || NUMBERED.test(line) || HEADING.test(line) || startsTable(lines, place())) break;
    if (parts.length > 0) parts.push(h("br", {}));
    parts.push(...spans(line));
    next();
  }
  return parts;
}
