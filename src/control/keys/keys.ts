// What administrators do with named keys. The text of a key is in the answer that makes it and is not stored.
import { hasScope } from '../../domain/access.ts';
import { formatCursor, parseCursor } from '../../domain/cursor.ts';
import { parseDuration } from '../../domain/duration.ts';
import { ServiceError } from '../../domain/errors.ts';
import { isKeyText, keyHash, newKeyText, shownPrefix } from '../../domain/key-text.ts';
import { parseOwner } from '../../domain/owner.ts';
import type { Clock, Ids, Random } from '../../domain/ports.ts';
import { KEY_ID, type Key, type KeyCreate, type KeyRotate, type KeyWithSecret } from '../../schema/key.ts';
import { KEY_SCOPES, type KeyFormat } from '../../schema/key-words.ts';
import type { KeyRecord, KeyRotation, KeyStore } from '../../store/seam/keys.ts';
import type { Keys } from '../api/keys.ts';
import type { KeyRing } from './key-ring.ts';

const MOST_KEYS = 10_000;
const MOST_KEYS_OF_OWNER = 100;
const MOST_REVOKED = 1000;
const PAGE = 100;
const DEFAULT_OVERLAP = '24h';
const LONGEST_OVERLAP = '720h';

export interface KeysDeps {
  keys: KeyStore;
  ring: KeyRing;
  ids: Pick<Ids, 'key'>;
  random: Random;
  clock: Clock;
}

export function keyViews(deps: KeysDeps): Keys {
  const { keys, ring, clock } = deps;
  return {
    create: (request, caller) => create(deps, request, caller.actor),
    list: async ({ limit = PAGE, cursor }) => {
      const found = await keys.list(limit + 1, cursor === undefined ? undefined : parseCursor(cursor));
      const page = found.slice(0, limit);
      const shown = page.map((record) => viewOf(deps, record));
      const last = page.at(-1);
      return last && found.length > limit
        ? { keys: shown, next_cursor: formatCursor(last) }
        : { keys: shown };
    },
    get: async (key) => viewOf(deps, await known(keys, key)),
    rotate: (key, request) => rotate(deps, key, request),
    revoke: async (key, { actor }) => {
      const { id } = await known(keys, key);
      const at = new Date(clock.now()).toISOString();
      const revoked = await keys.revoke(id, { at, by: actor, kept: MOST_REVOKED });
      if (!revoked) throw unknownKey();
      ring.put(revoked);
      return viewOf(deps, revoked);
    },
  };
}

async function create(deps: KeysDeps, request: KeyCreate, created_by: string): Promise<KeyWithSecret> {
  const { name, format = 'svc', ttl } = request;
  if (new RegExp(KEY_ID).test(name))
    throw new ServiceError('bad_request', 'name has the form of an id of a key.', {
      remedy: 'Choose another name.',
    });
  // A key of E2B would be a valid name, and names are in lists, the audit and the log.
  if (isKeyText(name))
    throw new ServiceError('bad_request', 'name has the form of a key.', {
      remedy:
        'Choose another name. If it is a key, revoke or rotate that key, because this call may be in logs.',
    });
  const owner_id = request.owner_id === undefined ? undefined : parseOwner(request.owner_id, 'owner_id');
  const scopes = KEY_SCOPES.filter((scope) => (request.scopes ?? ['use']).includes(scope));
  if (owner_id !== undefined && hasScope(scopes, 'admin'))
    throw new ServiceError('bad_request', 'A key of one owner cannot have the scope admin.', {
      remedy: 'Leave owner_id out, or leave the scope admin out.',
    });
  const text = newKeyText(format, deps.random);
  const now = deps.clock.now();
  const record: KeyRecord = {
    id: deps.ids.key(),
    name,
    hash: keyHash(text),
    prefix: shownPrefix(text),
    scopes,
    created_at: new Date(now).toISOString(),
    created_by,
  };
  if (owner_id !== undefined) record.owner_id = owner_id;
  if (ttl !== undefined) record.expires_at = after(now, ttl, 'ttl');
  const outcome = await deps.keys.create(record, { most: MOST_KEYS, most_of_owner: MOST_KEYS_OF_OWNER });
  if (outcome !== 'created') throw notCreated(outcome);
  deps.ring.put(record);
  return Object.assign(viewOf(deps, record), { secret: text });
}

async function rotate(deps: KeysDeps, key: string, request: KeyRotate): Promise<KeyWithSecret> {
  const { keys, ring, clock, random } = deps;
  const record = await known(keys, key);
  const now = clock.now();
  refuseRotation(record, request, now);
  const text = newKeyText(request.format ?? formatOf(record), random);
  const rotation: KeyRotation = Object.assign(previousOf(record, request, now), {
    hash: keyHash(text),
    prefix: shownPrefix(text),
    rotated_at: new Date(now).toISOString(),
    expires_at: request.ttl === undefined ? (record.expires_at ?? null) : after(now, request.ttl, 'ttl'),
  });
  const rotated = await keys.rotate(record.id, record.hash, rotation);
  if (!rotated)
    throw new ServiceError('conflict', 'The key changed in the meantime.', {
      remedy: 'Look at the key, then try again if it still needs a rotation.',
    });
  ring.put(rotated);
  return Object.assign(viewOf(deps, rotated), { secret: text });
}

function refuseRotation(record: KeyRecord, { overlap, ttl, replace = false }: KeyRotate, now: number): void {
  const refuse = (message: string, remedy: string) => new ServiceError('conflict', message, { remedy });
  if (replace && overlap !== undefined)
    throw new ServiceError('bad_request', 'replace and overlap exclude each other.', {
      remedy: 'Leave overlap out: the previous key keeps its end.',
    });
  if (record.revoked_at !== undefined) throw refuse('The key is revoked.', 'Create another key.');
  if (ttl === undefined && isOver(record.expires_at, now))
    throw refuse('The key has expired.', 'Set ttl, or create another key.');
  const isOpen = isPreviousValid(record, now);
  if (replace && !isOpen) throw refuse('No rotation of the key is open.', 'Leave replace out.');
  if (isOpen && !replace && parseDuration(overlap ?? DEFAULT_OVERLAP, 'overlap') > 0)
    throw refuse(
      `The key is being rotated; its previous key ends at ${record.previous_until}.`,
      'Wait until then. If the answer with the new key was lost, set replace. To end both keys at once, set overlap to 0s.',
    );
}

function previousOf(
  record: KeyRecord,
  { overlap = DEFAULT_OVERLAP, replace = false }: KeyRotate,
  now: number,
): Pick<KeyRotation, 'previous_hash' | 'previous_until'> {
  if (replace) {
    const { previous_hash = null, previous_until = null } = record;
    return { previous_hash, previous_until };
  }
  const ms = parseDuration(overlap, 'overlap');
  if (ms > parseDuration(LONGEST_OVERLAP, 'overlap'))
    throw new ServiceError('bad_request', `overlap is more than ${LONGEST_OVERLAP}.`);
  // A new time of expiry is for the new text: the previous one ends no later than it would have.
  const end = Math.min(
    now + ms,
    record.expires_at === undefined ? Number.POSITIVE_INFINITY : Date.parse(record.expires_at),
  );
  if (end <= now) return { previous_hash: null, previous_until: null };
  return { previous_hash: record.hash, previous_until: new Date(end).toISOString() };
}

function viewOf({ ring, clock }: KeysDeps, record: KeyRecord): Key {
  const { hash: _, previous_hash: __, previous_until, scopes, ...shown } = record;
  const now = clock.now();
  const state =
    record.revoked_at !== undefined ? 'revoked' : isOver(record.expires_at, now) ? 'expired' : 'active';
  const view: Key = Object.assign(shown, { scopes: scopes.slice(), state } as const);
  const used = ring.lastUse(record.id);
  if (used !== undefined) view.last_used_at = new Date(used).toISOString();
  if (previous_until !== undefined && state === 'active' && isPreviousValid(record, now))
    view.previous_until = previous_until;
  return view;
}

const isOver = (stamp: string | undefined, now: number) => stamp !== undefined && Date.parse(stamp) <= now;
const isPreviousValid = ({ previous_until }: KeyRecord, now: number) =>
  previous_until !== undefined && !isOver(previous_until, now);
const after = (now: number, duration: string, field: string) =>
  new Date(now + parseDuration(duration, field)).toISOString();
const formatOf = ({ prefix }: KeyRecord): KeyFormat => (prefix.startsWith('e2b_') ? 'e2b' : 'svc');

async function known(keys: KeyStore, key: string): Promise<KeyRecord> {
  const record = await keys.find(key);
  if (!record) throw unknownKey();
  return record;
}

function unknownKey(): ServiceError {
  return new ServiceError('not_found', 'There is no such key.', {
    remedy: 'List keys to see the current ones.',
  });
}

function notCreated(outcome: 'taken' | 'full' | 'owner_full'): ServiceError {
  if (outcome === 'taken')
    return new ServiceError('conflict', 'A key with this name exists.', {
      remedy: 'Choose another name, or rotate or revoke that key.',
    });
  const message =
    outcome === 'full' ? `There are ${MOST_KEYS} keys.` : `The owner has ${MOST_KEYS_OF_OWNER} keys.`;
  return new ServiceError('resource_limit', message, { remedy: 'Revoke keys that are not used.' });
}
