// How much a key leaves to guess. Measured, not only its length: repetition, runs and sequences add nothing.

/** A key of 32 random bytes measures 220 bits and more in hex, base32 and base64; one of 24 bytes stays below this. */
export const ENOUGH_BITS = 200;

const CLASSES: readonly (readonly [pattern: RegExp, size: number])[] = [
  [/^[0-9]+$/, 10],
  [/^(?:[0-9a-f]+|[0-9A-F]+)$/, 16],
  [/^(?:[a-z2-7]+|[A-Z2-7]+)$/, 32],
  [/^(?:[a-z0-9]+|[A-Z0-9]+)$/, 36],
  [/^[A-Za-z0-9+/=_-]+$/, 64],
];
const ANY_SIZE = 95;

/** Bits that guessing the key takes at most. Linear in its length. */
export function keyBits(key: string): number {
  const size = CLASSES.find(([pattern]) => pattern.test(key))?.[1] ?? ANY_SIZE;
  return surprises(key) * Math.log2(size);
}

/** Characters that those before them do not tell: neither the same step again (aaa, abc, 321) nor part of a repetition. */
function surprises(key: string): number {
  const seen = new Set<string>();
  let count = 0;
  for (let at = 0; at < key.length; at++) {
    const triple = key.slice(Math.max(0, at - 2), at + 1);
    const isRepeated = triple.length === 3 && seen.has(triple);
    if (!isRepeated && !isNextStep(triple)) count += 1;
    seen.add(triple);
  }
  return count;
}

function isNextStep(triple: string): boolean {
  if (triple.length < 3) return false;
  const step = triple.charCodeAt(1) - triple.charCodeAt(0);
  return Math.abs(step) <= 1 && triple.charCodeAt(2) - triple.charCodeAt(1) === step;
}

const PLACEHOLDERS =
  /change[-_ ]?(?:me|this|it)|replace[-_ ]?(?:me|this|with)|placeholder|your[-_ ]?(?:api|admin|secret|key)|(?:^|[^a-z])(?:example|password|insecure|default|secret|todo|dummy|sample)(?:$|[^a-z])|^(?:test|dev|admin|demo|root|svc|key|foo|none|null|x+)(?:[-_ ]?key)?\d*$|^<.*>$|^\$\{.*\}$/i;

/** Whether a key is what somebody wrote to be replaced. */
export function isPlaceholder(key: string): boolean {
  return PLACEHOLDERS.test(key.trim());
}
