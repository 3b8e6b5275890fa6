// All named keys and sessions in memory, so that a request finds its key without waiting. The counter of changes in the database is read
// every second: a change by another process holds within 2 s. A request whose key is unknown has it read again first, so that a key
// that another process has just made works at once. Ends that come by time are noticed at the same pace here, and exactly by `find`.
import type { NamedKey } from '../../domain/access.ts';
import type { Clock, Logger, Timer } from '../../domain/ports.ts';
import { orAfter } from '../../domain/timeout.ts';
import type { KeyScope } from '../../schema/key-words.ts';
import type { KeyRecord, KeyStore } from '../../store/seam/keys.ts';
import type { SessionRecord, SessionStore } from '../../store/seam/sessions.ts';
import type { KeyEnd, NamedKeys } from '../api/keys.ts';

const EVERY_MS = 1000;
/** The shortest pause between readings for unknown keys, and the longest time that a request waits for one. */
const [REFRESH_PAUSE_MS, REFRESH_MS] = [100, 2000];
const USES_EVERY_MS = 60_000;

export interface KeyRingDeps {
  keys: Pick<KeyStore, 'all' | 'changes' | 'used'>;
  sessions: Pick<SessionStore, 'all'>;
  /** Whether other processes share the store. */
  replicas: { readonly areSeveral: boolean };
  clock: Clock;
  logger: Logger;
}

interface Entry {
  /** Absent for a session. */
  record?: KeyRecord;
  named: NamedKey;
  isPrevious: boolean;
}

export class KeyRing implements NamedKeys {
  readonly #deps: KeyRingDeps;
  /** Records by id: as many as the store has at most. */
  readonly #records = new Map<string, KeyRecord>();
  /** Keys by their hash in hex. A key has two while its rotation is open. */
  readonly #entries = new Map<string, Entry>();
  readonly #sessions = new Map<string, SessionRecord>();
  readonly #listeners: (() => void)[] = [];
  /** The last use by id, in ms since 1970, and the ids whose use is not stored yet. */
  readonly #uses = new Map<string, number>();
  readonly #unstored = new Set<string>();
  /** What this process changed since the last check began. */
  readonly #recent: KeyRecord[] = [];
  readonly #recentSessions = new Map<string, SessionRecord | undefined>();
  #changes = -1;
  #version = 0;
  #nextEnd = Number.POSITIVE_INFINITY;
  #storedAt = 0;
  #failed = false;
  #timer: Timer | undefined;
  #work: Promise<void> = Promise.resolve();
  #refresh: Promise<void> | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #stopped = false;

  constructor(deps: KeyRingDeps) {
    this.#deps = deps;
  }

  get version(): number {
    return this.#version;
  }

  find(digest: Buffer): NamedKey | undefined {
    const entry = this.#entries.get(digest.toString('hex'));
    return entry && this.#endOf(entry) === undefined ? entry.named : undefined;
  }

  endOf(digest: Buffer): KeyEnd | undefined {
    const entry = this.#entries.get(digest.toString('hex'));
    return entry && this.#endOf(entry);
  }

  get areShared(): boolean {
    return this.#deps.replicas.areSeveral;
  }

  refresh(): Promise<void> {
    this.#refresh ??= this.#checkSoon();
    return orAfter(this.#deps.clock, REFRESH_MS, this.#refresh, () => {});
  }

  isOver({ until }: NamedKey): boolean {
    return this.#deps.clock.now() >= until;
  }

  used(id: string): void {
    if (!this.#records.has(id)) return;
    const now = this.#deps.clock.now();
    if (now - (this.#uses.get(id) ?? 0) < USES_EVERY_MS) return;
    this.#uses.set(id, now);
    this.#unstored.add(id);
  }

  /** The last use that this process knows of; it may not be stored yet. */
  lastUse(id: string): number | undefined {
    return this.#uses.get(id);
  }

  watch(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Takes over a key that this process changed, so that the change holds at once. */
  put(record: KeyRecord): void {
    this.#recent.push(record);
    this.#records.set(record.id, record);
    this.#rebuild();
  }

  /** All sessions that are stored, also ones whose time has come. */
  sessions(): SessionRecord[] {
    return [...this.#sessions.values()].filter((session) => !isCode(session));
  }

  /** Codes that are good once. */
  codes(): SessionRecord[] {
    return [...this.#sessions.values()].filter(isCode);
  }

  /** Whether a credential still holds by which something was opened at this time: a session, a named key, or a configured one. */
  holds(credential: string, since: string): boolean {
    const now = this.#deps.clock.now();
    const session = this.#sessions.get(credential);
    if (credential.startsWith('ses-'))
      return (
        session !== undefined &&
        msOf(session.expires_at) > now &&
        this.holds(session.parent, session.created_at)
      );
    if (!credential.startsWith('key-')) return true;
    const key = this.#records.get(credential);
    return (
      key !== undefined &&
      key.revoked_at === undefined &&
      (key.rotated_at ?? '') <= since &&
      msOf(key.expires_at) > now
    );
  }

  session(id: string): SessionRecord | undefined {
    return this.#sessions.get(id);
  }

  /** The scopes of a named key; undefined for a credential of another kind. */
  scopesOf(id: string): readonly KeyScope[] | undefined {
    return this.#records.get(id)?.scopes;
  }

  /** Takes over a session that this process opened or renewed. */
  putSession(session: SessionRecord): void {
    this.#recentSessions.set(session.id, session);
    this.#sessions.set(session.id, session);
    this.#rebuild();
  }

  /** Takes over the end of sessions. */
  dropSessions(ids: readonly string[]): void {
    for (const id of ids) {
      this.#recentSessions.set(id, undefined);
      this.#sessions.delete(id);
    }
    if (ids.length > 0) this.#rebuild();
  }

  /** Resolves when the keys are read. A failure is logged and tried again. */
  async start(): Promise<void> {
    this.#storedAt = this.#deps.clock.monotonic();
    await this.#check();
    this.#next();
  }

  /** Stores the last uses. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#work;
    await this.#storeUses().catch((err: unknown) =>
      this.#deps.logger.warn({ err }, 'Could not store the last uses of keys; they are lost.'),
    );
  }

  #next(): void {
    if (this.#stopped) return;
    this.#timer = this.#deps.clock.after(EVERY_MS, () => {
      this.#work = this.#work.then(() => this.#check()).finally(() => this.#next());
    });
  }

  /** Callers that come before its reading begins share it; later ones need the next. Never rejects. */
  async #checkSoon(): Promise<void> {
    const { clock } = this.#deps;
    const pauseMs = this.#checkedAt + REFRESH_PAUSE_MS - clock.monotonic();
    if (pauseMs > 0) await clock.sleep(pauseMs);
    this.#work = this.#work.then(() => {
      this.#refresh = undefined;
      return this.#stopped ? undefined : this.#check();
    });
    await this.#work;
  }

  async #check(): Promise<void> {
    const { keys, sessions, clock, logger } = this.#deps;
    this.#checkedAt = clock.monotonic();
    try {
      this.#recent.length = 0;
      this.#recentSessions.clear();
      // Before the keys: a change in between is seen next time.
      const changes = await keys.changes();
      if (changes !== this.#changes) {
        const [records, opened] = await Promise.all([keys.all(), sessions.all()]);
        this.#records.clear();
        // What this process changed while it read may be newer than what it read.
        for (const record of records.concat(this.#recent)) this.#records.set(record.id, record);
        this.#takeSessions(opened);
        this.#changes = changes;
        this.#rebuild();
      } else if (clock.now() >= this.#nextEnd) this.#rebuild();
      if (clock.monotonic() - this.#storedAt >= USES_EVERY_MS) await this.#storeUses();
      this.#failed = false;
    } catch (err) {
      if (clock.now() >= this.#nextEnd) this.#rebuild();
      if (!this.#failed) logger.warn({ err }, 'Could not read named keys; using the last known ones.');
      this.#failed = true;
    }
  }

  #takeSessions(opened: readonly SessionRecord[]): void {
    this.#sessions.clear();
    for (const session of opened) this.#sessions.set(session.id, session);
    for (const [id, session] of this.#recentSessions)
      if (session) this.#sessions.set(id, session);
      else this.#sessions.delete(id);
  }

  async #storeUses(): Promise<void> {
    this.#storedAt = this.#deps.clock.monotonic();
    if (this.#unstored.size === 0) return;
    const uses = [...this.#unstored].map((id) => ({ id, at: stampOf(this.#uses.get(id) ?? 0) }));
    this.#unstored.clear();
    await this.#deps.keys.used(uses);
  }

  #rebuild(): void {
    this.#entries.clear();
    for (const record of this.#records.values()) {
      const { hash, previous_hash, previous_until } = record;
      if (previous_hash !== undefined && previous_until !== undefined)
        this.#entries.set(previous_hash, entryOf(record, previous_until));
      this.#entries.set(hash, entryOf(record));
    }
    for (const session of this.sessions()) this.#addSession(session);
    for (const id of this.#uses.keys()) if (!this.#records.has(id)) this.#uses.delete(id);
    const now = this.#deps.clock.now();
    this.#nextEnd = Number.POSITIVE_INFINITY;
    for (const { named } of this.#entries.values())
      if (named.until > now) this.#nextEnd = Math.min(this.#nextEnd, named.until);
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  }

  /** A session ends with its key, and a rotation of the key ends it, too. */
  #addSession(session: SessionRecord): void {
    const { id, hash, parent, actor, owner_id, scopes, created_at, expires_at } = session;
    let until = msOf(expires_at);
    if (parent.startsWith('key-')) {
      const key = this.#records.get(parent);
      if (key === undefined || key.revoked_at !== undefined || (key.rotated_at ?? '') > created_at) return;
      until = Math.min(until, msOf(key.expires_at));
    }
    const named: NamedKey = { id, name: id, scopes, until, session: { parent, actor } };
    if (owner_id !== undefined) named.owner_id = owner_id;
    this.#entries.set(hash, { named, isPrevious: false });
  }

  #endOf({ record, named, isPrevious }: Entry): KeyEnd | undefined {
    if (record?.revoked_at !== undefined) return 'revoked';
    const now = this.#deps.clock.now();
    if (now < named.until) return undefined;
    const isExpired = record?.expires_at !== undefined && now >= Date.parse(record.expires_at);
    return isPrevious && !isExpired ? 'replaced' : 'expired';
  }
}

const isCode = ({ id }: SessionRecord) => id.startsWith('code-');

function entryOf(record: KeyRecord, previous_until?: string): Entry {
  const { id, name, owner_id, scopes, expires_at } = record;
  const until = Math.min(msOf(expires_at), msOf(previous_until));
  const named: NamedKey = { id, name, scopes, until };
  if (owner_id !== undefined) named.owner_id = owner_id;
  return { record, named, isPrevious: previous_until !== undefined };
}

const msOf = (stamp: string | undefined) =>
  stamp === undefined ? Number.POSITIVE_INFINITY : Date.parse(stamp);
const stampOf = (ms: number) => new Date(ms).toISOString();
