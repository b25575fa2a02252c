// Values stored in the browser: choices for good, the key until the window closes or, if asked for, for good.

const PREFIX = "engrams.";
const memory = new Map();

function read(store, name) {
  try {
    return store().getItem(PREFIX + name);
  } catch {
    return memory.get(name) ?? null;
  }
}

function write(store, name, value) {
  memory.set(name, value);
  try {
    if (value === "") store().removeItem(PREFIX + name);
    else store().setItem(PREFIX + name, value);
  } catch {
    // Storage may be forbidden; the value then lives as long as the page.
  }
}

/** Values of this window only. */
export const getForWindow = (name) => read(() => sessionStorage, name) ?? "";
export const setForWindow = (name, value) => write(() => sessionStorage, name, value);

/** Key for the server: of this window, or remembered on this device. */
export const getKey = () => getForWindow("key") || getChoice("key", "");
export function setKey(key, remember = false) {
  setForWindow("key", key);
  setChoice("key", remember ? key : "");
}

/** Choices of this browser. */
export const getChoice = (name, otherwise) => read(() => localStorage, name) ?? otherwise;
export const setChoice = (name, value) => {
  write(() => localStorage, name, value);
  for (const listener of listeners.get(name) ?? []) listener(value);
};

const listeners = new Map();

/** Call `listener` when a choice changes; returns a function that stops it. */
export function watchChoice(name, listener) {
  const all = listeners.get(name) ?? new Set();
  listeners.set(name, all.add(listener));
  return () => all.delete(listener);
}
