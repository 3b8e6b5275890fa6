// What a wrong request hears: the place, and in words what belongs there.
import { expect, it } from 'vitest';
import { ExecRequest } from '../../../src/schema/exec.ts';
import { FileContent } from '../../../src/schema/file.ts';
import { SandboxListQuery, SpawnRequest } from '../../../src/schema/sandbox.ts';
import { validator } from '../../../src/schema/validator.ts';

const checks = {
  spawn: validator(SpawnRequest, 'The body'),
  exec: validator(ExecRequest, 'The body'),
  file: validator(FileContent, 'The body'),
  list: validator(SandboxListQuery, 'The query'),
};
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, '']));

it.each([
  ['spawn', [], 'The body must be an object.'],
  ['spawn', { memory_mb: '512' }, 'memory_mb must be a whole number.'],
  ['spawn', { memory_mb: 1.5 }, 'memory_mb must be a whole number.'],
  ['spawn', { memory_mb: 15 }, 'memory_mb must be at least 16.'],
  ['spawn', { vcpus: 257 }, 'vcpus must be at most 256.'],
  ['spawn', { image: '' }, 'image must not be empty.'],
  ['spawn', { image: 'a'.repeat(513) }, 'image must have at most 512 characters.'],
  ['spawn', { metadata: { a: 1 } }, 'metadata.a must be text.'],
  ['spawn', { metadata: many(65) }, 'metadata must have at most 64 entries.'],
  ['spawn', { env: { 'A=B': 'x' } }, /^env does not take the name "A=B": .*letters, digits and _.*\.$/],
  ['spawn', { metadata: { ['k'.repeat(65)]: '' } }, /^metadata does not take .*keys to 64 characters/],
  ['spawn', { network: 'host' }, 'network must be one of default, none.'],
  ['spawn', { nope: 1 }, 'The body has an unknown field "nope".'],
  ['exec', {}, 'The body lacks "command".'],
  ['exec', { command: 'x', stream: 'yes' }, 'stream must be true or false.'],
  ['exec', { command: 'x', args: 'y' }, 'args must be a list.'],
  ['file', { content: '', mode: '9' }, /^mode is not of the right form: Octal .* digits\.$/],
  ['list', { foo: '1' }, 'The query has an unknown field "foo".'],
] as const)('%s %j', (kind, value, words) => {
  const said = checks[kind](value);
  if (words instanceof RegExp) expect(said).toMatch(words);
  else expect(said).toBe(words);
});
