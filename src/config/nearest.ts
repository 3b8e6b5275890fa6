// "Did you mean": the known name nearest to a mistyped one.
import { distance } from 'fastest-levenshtein';

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
