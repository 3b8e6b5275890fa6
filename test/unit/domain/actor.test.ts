// Actors: what a stored one may look like, and who ends sandboxes for reasons of the service.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SYSTEM_CAUSES, systemEnd } from '../../../src/domain/actor.ts';
import { ACTOR_PATTERN, LONGEST_ACTOR } from '../../../src/schema/actor.ts';
import { END_REASONS } from '../../../src/schema/sandbox.ts';

const isActor = (text: string) => new RegExp(ACTOR_PATTERN).test(text);

it('accepts every documented kind', () => {
  const worker = `worker:${'w'.repeat(128)}`;
  const fine = ['key:ci', 'admin:X-Admin-API-Key', 'api:X-API-Key', worker, 'anonymous', 'none'];
  for (const actor of fine) expect(isActor(actor), actor).toBe(true);
  for (const actor of fine) expect(actor.length).toBeLessThanOrEqual(LONGEST_ACTOR);
  for (const cause of SYSTEM_CAUSES) expect(isActor(`system:${cause}`), cause).toBe(true);
});

it('refuses line breaks, spaces, nothing, and more than fits', () => {
  const bad = ['', 'key:a b', 'key:a\nb', 'key:', 'Key:a', `key:${'a'.repeat(144)}`, 'system:é'];
  for (const actor of bad) expect(isActor(actor), JSON.stringify(actor)).toBe(false);
});

it('names a listed cause for every end that no caller requests', () => {
  const named = END_REASONS.filter((reason) => reason !== 'destroyed' && reason !== 'pruned').map(systemEnd);
  const causes: readonly string[] = SYSTEM_CAUSES.map((cause) => `system:${cause}`);
  for (const actor of named) expect(causes).toContain(actor);
  expect(new Set(named).size).toBe(named.length);
});

it('documents every cause and no other', () => {
  const page = readFileSync(new URL('../../../docs/design/api.md', import.meta.url), 'utf8');
  const table = page.slice(page.indexOf('| Cause |'), page.indexOf('The first actor counts'));
  const documented = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, cause]) => cause);
  expect(documented).toEqual([...SYSTEM_CAUSES]);
});
