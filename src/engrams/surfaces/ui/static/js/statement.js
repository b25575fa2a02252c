// Memories as the page reads them to its reader: "You live in Berlin", a quotation, or the text as it stands.

import { has, t } from "./i18n.js";

/** Text of a memory for its reader. The quoted words of a statement are in `evidence`. */
export function readStatement(memory) {
  if (!memory.statement) return memory.text;
  return addressReader(memory) || t("quoted", { text: memory.text });
}

/** Statement about the reader in the second person; empty where its triple has no such sentence. */
function addressReader({ subject, predicate, object, meta }) {
  if (subject.toLowerCase() !== "user" || !object) return "";
  const name = predicate.toLowerCase();
  const values = { value: object };
  if (meta?.effect === "ends") return has(`you_no_longer.${name}`) ? t(`you_no_longer.${name}`, values) : "";
  if (meta?.polarity === false) return has(`you_not.${name}`) ? t(`you_not.${name}`, values) : "";
  return has(`you_do.${name}`) ? t(`you_do.${name}`, values) : "";
}
