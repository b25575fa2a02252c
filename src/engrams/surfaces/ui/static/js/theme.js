// Runs before the page is painted, so that a chosen theme does not flash. A plain script: modules run later.
(() => {
  let chosen = "";
  try {
    chosen = localStorage.getItem("engrams.theme") || "";
  } catch {
    chosen = "";
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
