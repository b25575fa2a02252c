// Trace of the last question in this window.

let held = null;

export const getTrace = () => held;

export function setTrace(explained) {
  held = explained;
}
