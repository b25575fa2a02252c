// What the key of this page may do: controls of class `writes` or `chats` are shown only where it may.

/** Show what these rights allow; without any given, everything. */
export function allow(rights) {
  if (rights) document.documentElement.dataset.rights = rights.join(" ");
  else delete document.documentElement.dataset.rights;
}
