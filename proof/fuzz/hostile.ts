// Values that break careless programs, and changes that break a valid text or JSON value.
import type { Chance } from './chance.ts';

export const TEXTS: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\r\nX-Injected: 1',
  '\n',
  '\u001b[2J',
  '\u202e\u2066',
  '\ud800',
  '\udfff\ud800',
  '\ufeff',
  'ü',
  'u\u0308',
  '😀'.repeat(40),
  '٣s',
  '-1',
  '1e3s',
  '0.5s',
  '1h1h',
  '999999999999h',
  '9223372036854775808ns',
  '0s',
  '..',
  '../../etc/passwd',
  '/..//./proc/self/environ',
  '/proc/1/mem',
  '/dev/zero',
  '/dev/full',
  '/workspace/\n',
  '/',
  '~root',
  '-rf',
  '*',
  '[',
  '{a,b'.repeat(20),
  '**/'.repeat(40),
  '(a+)+$',
  "'; DROP TABLE sandboxes; --",
  '$(id)`id`',
  '%s%n%x',
  '%00%2e%2e%2f',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'NaN',
  'a'.repeat(65),
  'a'.repeat(1025),
  'a'.repeat(5000),
  'http://169.254.169.254/latest',
  'sb-aaaaaaaaaaaa',
  'ex-aaaaaaaaaaaa',
  'userspace',
  'host',
];

const NUMBERS: readonly number[] = [
  0,
  -0,
  -1,
  1,
  1.5,
  1e-7,
  1e21,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  -(2 ** 63),
  Number.MAX_VALUE,
];

export function anyText(chance: Chance): string {
  if (chance.oneIn(4)) return chance.bytes(chance.below(40)).toString(chance.pick(['latin1', 'utf8', 'hex']));
  return chance.pick(TEXTS);
}

export function anyValue(chance: Chance, depth = 0): unknown {
  const plain: readonly (() => unknown)[] = [
    () => anyText(chance),
    () => anyText(chance),
    () => chance.pick(NUMBERS),
    () => chance.oneIn(2),
    () => null,
  ];
  const nested: readonly (() => unknown)[] = [
    () => Array.from({ length: chance.below(5) }, () => anyValue(chance, depth + 1)),
    () => ({ [anyText(chance)]: anyValue(chance, depth + 1) }),
  ];
  return chance.pick(depth > 3 ? plain : [...plain, ...nested])();
}

/** `value` with one change: a part replaced, removed, or with a new neighbour. */
export function mutated(chance: Chance, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || chance.oneIn(12)) return anyValue(chance);
  if (Array.isArray(value)) {
    const at = chance.below(value.length + 1);
    return [...value.slice(0, at), mutated(chance, value[at]), ...value.slice(at + 1)];
  }
  const entries = Object.entries(value);
  const [key, old] = chance.pick<[string, unknown]>([...entries, [anyText(chance), undefined]]);
  const rest = entries.filter(([name]) => name !== key);
  return Object.fromEntries(chance.oneIn(5) ? rest : [...rest, [key, mutated(chance, old)]]);
}

/** `bytes` damaged: cut, flipped, doubled, or with noise put in. */
export function damaged(chance: Chance, bytes: Buffer): Buffer {
  const at = chance.below(bytes.length + 1);
  const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at)];
  const ways: readonly (() => Buffer)[] = [
    () => head,
    () => tail,
    () => Buffer.concat([head, chance.bytes(1 + chance.below(8)), tail]),
    () => Buffer.concat([bytes, bytes]),
    () => Buffer.concat([head, Buffer.from(chance.pick(TEXTS)), tail.subarray(1)]),
    () => {
      const flipped = Buffer.from(bytes);
      if (at < flipped.length) flipped[at]! ^= 1 << chance.below(8);
      return flipped;
    },
  ];
  return chance.pick(ways)();
}

/** `bytes` as they may arrive. */
export function pieces(chance: Chance, bytes: Buffer): Buffer[] {
  const all: Buffer[] = [];
  const most = 1 + chance.below(chance.oneIn(2) ? 4 : 2000);
  for (let at = 0; at < bytes.length; at += all.at(-1)?.length ?? 1)
    all.push(bytes.subarray(at, at + 1 + chance.below(most)));
  return all;
}
