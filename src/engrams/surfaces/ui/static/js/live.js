// Views that follow what happens: a question again and again, not while nobody looks.

/** Run `work` now and every so many seconds while the page is seen; a failure only skips a turn. The answer stops it. */
export function every(seconds, work) {
  let timer = 0;
  let over = false;
  const turn = async () => {
    clearTimeout(timer);
    if (!document.hidden) {
      try {
        await work();
      } catch {
        // The next turn tries again; actions of the reader say what failed.
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

/** `work` once typing has paused. */
export function later(work, wait = 180) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), wait);
  };
}
