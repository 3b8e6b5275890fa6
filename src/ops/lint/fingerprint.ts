// What makes a finding the same one although lines have moved: its rule, its key, and the entry of a list. Nothing of a
// secret goes into it, since a short hash of one would give it away.

const LENGTH = 32;

/** Hex. */
export function fingerprint(rule: string, key: string, words: string): string {
  // Loaded with the first finding: a file without one is judged in less time than this module takes to load.
  const { createHash } = process.getBuiltinModule('node:crypto');
  return createHash('sha256').update([rule, key, words].join('\n')).digest('hex').slice(0, LENGTH);
}
