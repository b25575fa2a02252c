// Repeat requests while the page is visible; wait for pauses in typing.

/** Run `work` now and every `seconds` while the page is visible; returns a function that stops it. */
export function poll(seconds, work) {
  let timer = 0;
  let over = false;
  const turn = async () => {
    clearTimeout(timer);
    if (!document.hidden) {
      try {
        await work();
      } catch {
        // The next turn tries again.
      }
    }
    if (!over) timer = setTimeout(turn, seconds * 1000);
  };
  const seen = () => document.hidden || turn();
  document.addEventListener("visibilitychange", seen);
  turn();
  return () => {
    over = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}

/** Delay `work` until no call came for `wait` milliseconds. */
export function debounce(work, wait = 180) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), wait);
  };
}
