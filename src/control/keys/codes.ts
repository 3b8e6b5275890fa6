// Codes that are good once, for a minute: a login that a command hands to a browser, and a file that a browser downloads by a link. The
// database has the hash of each beside the sessions: whoever takes it first has it, at whichever server. A code is signed, so that one
// that was made up costs no access to the database.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../domain/errors.ts';
import { keyHash } from '../../domain/key-text.ts';
import type { Clock, Ids, Random } from '../../domain/ports.ts';
import { CODE_PREFIX } from '../../schema/session.ts';
import type { SessionRecord, SessionStore } from '../../store/seam/sessions.ts';
import type { CodeRights, OneTimeCodes } from '../api/codes.ts';
import type { KeyRing } from './key-ring.ts';

const LIFE_MS = 60_000;
const RANDOM_BYTES = 24;
/** Codes that one credential and owner may have at a time. */
const MOST_OF_ONE = 100;
/** Codes of all together. */
const MOST = 2000;
const SHAPE = new RegExp(`^${CODE_PREFIX}([A-Za-z0-9_-]{32})([A-Za-z0-9_-]{43})$`);

export interface CodesDeps {
  sessions: Pick<SessionStore, 'open' | 'take' | 'end'>;
  ring: KeyRing;
  ids: Pick<Ids, 'session'>;
  random: Random;
  clock: Clock;
  /** The key of the instance, in hex. */
  key: string;
}

export class Codes implements OneTimeCodes {
  readonly #deps: CodesDeps;
  readonly #key: Buffer;

  constructor(deps: CodesDeps) {
    this.#deps = deps;
    this.#key = createHmac('sha256', Buffer.from(deps.key, 'hex')).update('svc codes').digest();
  }

  async issue(purpose: string, rights: CodeRights): Promise<{ code: string; expires_at: string }> {
    const { sessions, ring, ids, random, clock } = this.#deps;
    const nonce = random.bytes(RANDOM_BYTES).toString('base64url');
    const code = `${CODE_PREFIX}${nonce}${this.#sign(purpose, nonce).toString('base64url')}`;
    const now = clock.now();
    const expires_at = new Date(now + LIFE_MS).toISOString();
    const record: SessionRecord = {
      ...rights,
      id: ids.session().replace(/^ses-/, 'code-'),
      hash: keyHash(code),
      created_at: new Date(now).toISOString(),
      expires_at,
      ends_at: expires_at,
    };
    const ended = superfluous(ring.codes(), record, now);
    await sessions.open(record, ended);
    ring.dropSessions(ended);
    ring.putSession(record);
    return { code, expires_at };
  }

  async take(purpose: string, code: string): Promise<SessionRecord> {
    const { ring } = this.#deps;
    const [, nonce = '', given = ''] = SHAPE.exec(code) ?? [];
    const isOurs =
      nonce !== '' && timingSafeEqual(Buffer.from(given, 'base64url'), this.#sign(purpose, nonce));
    const record = isOurs ? await this.#taken(code) : undefined;
    if (record && ring.holds(record.parent, record.created_at)) return record;
    throw new ServiceError('unauthorized', 'The code is not valid: it is good once, for a minute.', {
      remedy: 'Ask for a new one.',
    });
  }

  async #taken(code: string): Promise<SessionRecord | undefined> {
    const { sessions, ring, random, clock } = this.#deps;
    const now = new Date(clock.now()).toISOString();
    const record = await sessions.take(
      keyHash(code),
      now,
      keyHash(random.bytes(RANDOM_BYTES).toString('hex')),
    );
    if (!record) return undefined;
    await sessions.end([record.id]);
    ring.dropSessions([record.id]);
    return record;
  }

  #sign(purpose: string, nonce: string): Buffer {
    return createHmac('sha256', this.#key).update(`${nonce}\n${purpose}`).digest();
  }
}

/** Codes that have ended, and the oldest where there would be too many. */
function superfluous(codes: readonly SessionRecord[], fresh: SessionRecord, now: number): string[] {
  const live = codes
    .filter(({ expires_at }) => Date.parse(expires_at) > now)
    // Of the same millisecond the last one is the newest.
    .reverse()
    .sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));
  const isOwn = ({ parent, owner_id }: SessionRecord) =>
    parent === fresh.parent && owner_id === fresh.owner_id;
  const kept = new Set(live.slice(0, MOST - 1));
  for (const code of live.filter(isOwn).slice(MOST_OF_ONE - 1)) kept.delete(code);
  return codes.filter((code) => !kept.has(code)).map(({ id }) => id);
}
