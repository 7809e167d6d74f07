// Two versions of a notebook, line by line. Pure; good enough to choose between them, not a merge tool.

export interface DiffLine {
  readonly kind: "same" | "mine" | "theirs";
  readonly text: string;
}

const MOST = 2000;

/** Longest common subsequence over lines, with common ends cut first. */
export function diffLines(theirs: readonly string[], mine: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < theirs.length && start < mine.length && theirs[start] === mine[start]) start += 1;
  let end = 0;
  while (end < theirs.length - start && end < mine.length - start && theirs.at(-1 - end) === mine.at(-1 - end))
    end += 1;
  const a = theirs.slice(start, theirs.length - end);
  const b = mine.slice(start, mine.length - end);
  const same = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ kind: "same", text }));
  const middle = a.length * b.length > MOST * MOST ? whole(a, b) : subsequence(a, b);
  return [...same(theirs.slice(0, start)), ...middle, ...same(theirs.slice(theirs.length - end))];
}

const whole = (a: readonly string[], b: readonly string[]): DiffLine[] => [
  ...a.map((text): DiffLine => ({ kind: "theirs", text })),
  ...b.map((text): DiffLine => ({ kind: "mine", text })),
];

function subsequence(a: readonly string[], b: readonly string[]): DiffLine[] {
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => table[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const out: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ kind: "same", text: a[i] ?? "" });
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      out.push({ kind: "theirs", text: a[i++] ?? "" });
    } else {
      out.push({ kind: "mine", text: b[j++] ?? "" });
    }
  }
  return out;
}

/** Only what differs, with a few lines around. */
export function around(lines: readonly DiffLine[], context = 2): (DiffLine | null)[] {
  const keep = new Set<number>();
  lines.forEach((line, i) => {
    if (line.kind === "same") return;
    for (let k = i - context; k <= i + context; k++) keep.add(k);
  });
  const out: (DiffLine | null)[] = [];
  lines.forEach((line, i) => {
    if (keep.has(i)) out.push(line);
    else if (out.at(-1) !== null && out.length > 0) out.push(null);
  });
  return out;
}
