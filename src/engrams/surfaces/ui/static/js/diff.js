// Word-by-word difference of two texts.

const MOST = 400;

/** [["same" | "gone" | "new", text], …] by longest common subsequence. */
export function words(before, after) {
  const a = before.match(/\s+|[^\s]+/g) ?? [];
  const b = after.match(/\s+|[^\s]+/g) ?? [];
  if (a.length > MOST || b.length > MOST)
    return [
      ["gone", before],
      ["new", after],
    ];
  const long = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1)
      long[i][j] = a[i] === b[j] ? long[i + 1][j + 1] + 1 : Math.max(long[i + 1][j], long[i][j + 1]);
  }
  const parts = [];
  const put = (kind, text) => {
    if (parts.at(-1)?.[0] === kind) parts.at(-1)[1] += text;
    else parts.push([kind, text]);
  };
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      put("same", a[i]);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && long[i + 1][j] >= long[i][j + 1])) {
      put("gone", a[i]);
      i += 1;
    } else {
      put("new", b[j]);
      j += 1;
    }
  }
  return parts;
}
