// Format values for display.

import { locale, t } from "./i18n.js";

const RELATIVE = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
const DAY = new Intl.DateTimeFormat(locale, { year: "numeric", month: "short", day: "numeric" });
const MOMENT = new Intl.DateTimeFormat(locale, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const CLOCK = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
const NUMBER = new Intl.NumberFormat(locale);
const DECIMAL = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const WEEK = 604_800;
const STEPS = [
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

/** "3 days ago"; a day where it is more than a week away. */
export function ago(value, now = Date.now()) {
  if (!value) return "";
  const seconds = (new Date(value).getTime() - now) / 1000;
  if (Math.abs(seconds) > WEEK) return day(value);
  for (const [unit, size] of STEPS) if (Math.abs(seconds) >= size) return RELATIVE.format(Math.round(seconds / size), unit);
  return t("just_now");
}

export function bytes(value) {
  const units = [t("bytes"), "kB", "MB", "GB"];
  let size = value;
  let at = 0;
  while (size >= 1000 && at < units.length - 1) {
    size /= 1000;
    at += 1;
  }
  return `${at ? DECIMAL.format(size) : number(size)} ${units[at]}`;
}

export const milliseconds = (value) =>
  value >= 1000 ? `${DECIMAL.format(value / 1000)} s` : value >= 10 ? `${number(Math.round(value))} ms` : `${DECIMAL.format(value ?? 0)} ms`;

/** Seconds as people say them: "20 min", "3 hr". */
export function duration(seconds) {
  const step = STEPS.find(([, size]) => seconds >= size);
  if (!step) return milliseconds(seconds * 1000);
  const [unit, size] = step;
  const format = new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 0 });
  return format.format(seconds / size);
}

export const capital = (text) => (text ? text[0].toUpperCase() + text.slice(1) : "");
export const plain = (text) => capital(String(text).replaceAll("_", " "));
export const short = (text, most = 160) => (text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text);
