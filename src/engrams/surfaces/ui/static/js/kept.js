// What this browser keeps: choices for good, the key for as long as the window is open.

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

/** Of this window only. */
export const kept = (name) => read(() => sessionStorage, name) ?? "";
export const keep = (name, value) => write(() => sessionStorage, name, value);

/** Of this browser. */
export const recall = (name, otherwise) => read(() => localStorage, name) ?? otherwise;
export const remember = (name, value) => {
  write(() => localStorage, name, value);
  for (const listener of listeners.get(name) ?? []) listener(value);
};

const listeners = new Map();

/** Call `listener` when a choice changes; the answer stops that. */
export function watch(name, listener) {
  const all = listeners.get(name) ?? new Set();
  listeners.set(name, all.add(listener));
  return () => all.delete(listener);
}
