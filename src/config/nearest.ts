// "Did you mean": the known name nearest to a mistyped one.

const LONGEST = 96;

/** The candidate that takes fewest edits to reach, or undefined when none is near. Bounded for any `name`. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > LONGEST) return undefined;
  let best: string | undefined;
  let fewest = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of candidates) {
    const edits = distance(name.toLowerCase(), candidate.toLowerCase());
    if (edits < fewest) [best, fewest] = [candidate, edits];
  }
  return best;
}

/** The known path for a key at `path`: a near one, else one whose last part is the same (a key in the wrong section). A
 * key outside of every section is more likely one without its section than a mistyped section. */
export function nearestPath(path: string, known: readonly string[]): string | undefined {
  const last = path.slice(path.lastIndexOf('.') + 1);
  const same = known.find((candidate) => candidate.endsWith(`.${last}`));
  return last === path ? (same ?? nearest(path, known)) : (nearest(path, known) ?? same);
}

/** Edits (insert, delete, replace, swap of neighbours) from `a` to `b`. */
function distance(a: string, b: string): number {
  let [before, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = swapped ? before[j - 2]! + 1 : replace;
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, replace, swap));
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
