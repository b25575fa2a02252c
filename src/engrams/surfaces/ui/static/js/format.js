// Format values for display.

const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const DAY = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });
const MOMENT = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const NUMBER = new Intl.NumberFormat();
const STEPS = [
  ["year", 31557600],
  ["month", 2629800],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];

export const day = (value) => (value ? DAY.format(new Date(value)) : "");
export const moment = (value) => (value ? MOMENT.format(new Date(value)) : "");
export const clock = (value) => CLOCK.format(new Date(value));

/** How the axis of a chart from `first` to now names its times: by day, or by hour within two days. */
export const axisLabel = (first) => (Date.now() - new Date(first).getTime() < 172_800_000 ? clock : day);
export const number = (value) => NUMBER.format(value ?? 0);

/** "3 days ago". */
export function ago(value, now = Date.now()) {
  if (!value) return "";
  const seconds = (new Date(value).getTime() - now) / 1000;
  for (const [unit, size] of STEPS) if (Math.abs(seconds) >= size) return RELATIVE.format(Math.round(seconds / size), unit);
  return "just now";
}

export function bytes(value) {
  const units = ["bytes", "kB", "MB", "GB"];
  let size = value;
  let at = 0;
  while (size >= 1000 && at < units.length - 1) {
    size /= 1000;
    at += 1;
  }
  return `${at ? size.toFixed(1) : size} ${units[at]}`;
}

export const milliseconds = (value) =>
  value >= 1000 ? `${(value / 1000).toFixed(1)} s` : value >= 10 ? `${Math.round(value)} ms` : `${(value ?? 0).toFixed(1)} ms`;
export const count = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;
export const capital = (text) => (text ? text[0].toUpperCase() + text.slice(1) : "");
export const plain = (text) => capital(String(text).replaceAll("_", " "));
export const short = (text, most = 160) => (text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text);
