// Save an answer of the server as a file.

import { h } from "./dom.js";

/** Offer the body of an answer as a download named after today. */
export async function saveFile(answer) {
  const url = URL.createObjectURL(await answer.blob());
  const link = h("a", { href: url, download: `engrams-${new Date().toISOString().slice(0, 10)}.jsonl` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
