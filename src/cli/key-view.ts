// Named keys as text for people, and the arguments and flags of their commands.
import { Args, Flags } from '@oclif/core';
import type { Key, KeyWithSecret } from '../schema/key.ts';
import { KEY_FORMATS } from '../schema/key-words.ts';
import { line } from './print.ts';
import { type Column, facts, table } from './render.ts';

export const keyArg = { key: Args.string({ description: 'Name or id of the key.', required: true }) };

export const keyFlags = {
  ttl: Flags.string({
    description: 'Time after which the key expires, for example 2160h; without it, the key does not expire.',
    helpValue: '<duration>',
  }),
  format: Flags.option({
    description: 'Form of the key; e2b is the form that older SDKs of E2B check.',
    options: KEY_FORMATS,
  })(),
};

const stateOf = ({ state, previous_until }: Key) =>
  previous_until === undefined ? state : `${state}, rotating`;

const COLUMNS: Column<Key>[] = [
  { title: 'name', value: ({ name }) => name },
  { title: 'key', value: ({ prefix }) => `${prefix}…` },
  { title: 'owner', value: ({ owner_id }) => owner_id ?? 'all' },
  { title: 'scopes', value: ({ scopes }) => scopes.join(', ') },
  { title: 'state', value: stateOf },
  { title: 'expires', value: ({ expires_at }) => expires_at ?? 'never' },
  { title: 'last used', value: ({ last_used_at }) => last_used_at ?? 'never' },
  { title: 'id', value: ({ id }) => id },
];

export function keyTable(keys: readonly Key[]): string {
  return table(keys, COLUMNS, 'No named keys.');
}

export function keyFacts(key: Key): string {
  return facts([
    ['name', key.name],
    ['id', key.id],
    ['owner', key.owner_id ?? 'all'],
    ['scopes', key.scopes.join(', ')],
    ['state', stateOf(key)],
    ['expires', key.expires_at ?? 'never'],
    ['previous key until', key.previous_until],
    ['created', key.created_at],
    ['created by', key.created_by],
    ['last used', key.last_used_at ?? 'never'],
    ['rotated', key.rotated_at],
    ['revoked', key.revoked_at],
    ['revoked by', key.revoked_by],
  ]);
}

/** The key goes to standard output by itself, so that it can be written to a file; the rest is for people. */
export function secretText({ secret }: KeyWithSecret): string {
  return line`${secret}`;
}
