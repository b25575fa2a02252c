// Picture or sound that a passage is about.

import { documents } from "./api.js";
import { fill, h } from "./dom.js";

/** A box that fills with the small picture or with a player; it stays empty where the file is not kept here. */
export function showFile(memory) {
  const box = h("div", { class: "media" });
  load(memory, box).catch(() => box.remove());
  return box;
}

/** The file comes by a request that says who asks, which an address in an element could not. */
async function load(memory, box) {
  const picture = memory.document.media.startsWith("image/");
  const url = URL.createObjectURL(await documents.file(memory, picture));
  const free = () => URL.revokeObjectURL(url);
  const name = memory.document.name;
  if (picture) fill(box, h("img", { src: url, alt: name, on: { load: free, error: free } }));
  else fill(box, h("audio", { src: url, controls: true, preload: "metadata", "aria-label": name }));
}
