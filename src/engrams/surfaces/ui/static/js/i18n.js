// Texts of the page in the reader's language. They are in lang/*.json; a module that shows one asks `t` for it.

import { getChoice } from "./pinned.js";
import { LANGUAGES } from "./words.js";

const FALLBACK = "en";
const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u202a-\u202e\u2066-\u2069]/;

/** Language that is chosen, else the first of the browser's that there is. */
function chooseLanguage() {
  const wanted = [getChoice("language", ""), ...navigator.languages].map((name) => name.toLowerCase());
  for (const name of wanted) {
    const found = [name, name.split("-")[0]].find((each) => Object.hasOwn(LANGUAGES, each));
    if (found) return found;
  }
  return FALLBACK;
}

async function load(language) {
  try {
    const answer = await fetch(new URL(`../lang/${language}.json`, import.meta.url));
    return answer.ok ? await answer.json() : {};
  } catch {
    return {};
  }
}

/** Language of the page. */
export const language = chooseLanguage();

/** Language of dates and numbers: the browser's own kind of it (en-GB), where it has one. */
export const locale = navigator.languages.find((name) => name.toLowerCase().split("-")[0] === language) ?? language;

const texts = await load(language);
const plural = new Intl.PluralRules(language);
const digits = new Intl.NumberFormat(locale);
document.documentElement.lang = language;

/** Text of a key. `values` fill its {names}; `n` chooses the form for a number. A key without a text is shown in words. */
export function t(key, values = {}) {
  return template(key, values).replace(/\{(\w+)\}/g, (hole, name) => (Object.hasOwn(values, name) ? written(values[name]) : hole));
}

/** Whether there is a text of this key. */
export const has = (key) => Object.hasOwn(texts, key);

/** The same as `t`, with elements among the values: a list of texts and elements. */
export function rich(key, values) {
  return template(key, values)
    .split(/(\{\w+\})/)
    .map((part) => {
      const name = part.match(/^\{(\w+)\}$/)?.[1];
      return name === undefined || !Object.hasOwn(values, name) ? part : values[name] instanceof Node ? values[name] : written(values[name]);
    })
    .filter((part) => part !== "");
}

/** Text of `group.name`, or the name itself in words where there is none: for names that the server gives. */
export function named(group, name) {
  const words = String(name ?? "").replaceAll("_", " ");
  return Object.hasOwn(texts, `${group}.${name}`) ? t(`${group}.${name}`) : words && words[0].toUpperCase() + words.slice(1);
}

/** Several texts as a sentence part: "a, b and c". */
export const joined = (parts) => new Intl.ListFormat(locale, { type: "conjunction" }).format(parts.filter(Boolean));

function template(key, values) {
  const found = texts[key] ?? key.replaceAll("_", " ");
  return typeof found === "string" ? found : (found[plural.select(values.n ?? 0)] ?? found.other);
}

/** A value as it stands in a text; one that is written from right to left turns nothing around it. */
function written(value) {
  if (typeof value === "number") return digits.format(value);
  const text = String(value);
  return RTL.test(text) ? `\u2068${text}\u2069` : text;
}
