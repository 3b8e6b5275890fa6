// The authority of this instance, for TLS that the server ends: made with the first credential that a sandbox uses, sealed in the
// store, shared by all servers of a database, and followed by another before it ends.
import { X509Certificate } from 'node:crypto';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { Seal } from '../../domain/seal.ts';
import type { Egress, EgressAuthority } from '../../egress/egress.ts';
import type { SecretRecord, SecretStore } from '../../store/seam/secrets.ts';

const KIND = 'authority';
const PREFIX = `${KIND}/egress-`;
const DAY_MS = 86_400_000;
/** Sandboxes that run on keep the authority that they know: it must still hold for a while. */
const RENEW_MS = 30 * DAY_MS;

export interface AuthoritiesDeps {
  /** Absent where nothing can be dialed. */
  egress: Pick<Egress, 'createAuthority' | 'authority'> | undefined;
  secrets: Pick<SecretStore, 'add' | 'list' | 'remove'>;
  seal(): Promise<Seal>;
  instance: { id: string };
  /** For how long a new one holds. */
  days: number;
  clock: Clock;
  logger: Logger;
}

interface Known {
  readonly number: number;
  /** Wall clock, ms. */
  readonly until: number;
  readonly authority: EgressAuthority;
}

export class Authorities {
  readonly #deps: AuthoritiesDeps;
  #known: Promise<readonly Known[]> | undefined;
  /** The highest number when they were read last. */
  #highest = 0;

  constructor(deps: AuthoritiesDeps) {
    this.#deps = deps;
  }

  /** Those that hold, the newest first; at least one. Rejects as the store does, and with `not_implemented` without a key. */
  async all(): Promise<readonly [EgressAuthority, ...EgressAuthority[]]> {
    const now = this.#deps.clock.now();
    const known = await this.#read();
    const [newest, ...others] = known.filter(({ until }) => until > now);
    if (newest && newest.until - now > Math.min(RENEW_MS, (this.#deps.days * DAY_MS) / 2))
      return [newest.authority, ...others.map(({ authority }) => authority)];
    await this.#add();
    const [first, ...older] = (await this.#read()).filter(({ until }) => until > now);
    if (!first) throw new Error('The new authority for egress cannot be read.');
    return [first.authority, ...older.map(({ authority }) => authority)];
  }

  get #egress() {
    const { egress } = this.#deps;
    if (egress) return egress;
    throw new ServiceError('not_implemented', 'This server opens no connections for sandboxes.');
  }

  #read(): Promise<readonly Known[]> {
    const reading = this.#known ?? this.#load();
    this.#known = reading;
    reading.catch(() => this.#forget(reading));
    return reading;
  }

  #forget(reading: Promise<readonly Known[]>): void {
    if (this.#known === reading) this.#known = undefined;
  }

  /** Those that ended are removed. */
  async #load(): Promise<readonly Known[]> {
    const { secrets, clock, logger } = this.#deps;
    const records = await secrets.list(KIND);
    this.#highest = Math.max(0, ...records.map((record) => numberOf(record) ?? 0));
    const known: Known[] = [];
    for (const record of records) {
      const number = numberOf(record);
      const until = untilOf(record);
      if (number === undefined || until === undefined) continue;
      if (until <= clock.now()) await secrets.remove(record.name);
      else {
        const authority = await this.#opened(record).catch((err: unknown) => {
          logger.warn({ err }, 'Could not open the authority for egress; another one is made.');
          return undefined;
        });
        if (authority) known.push({ number, until, authority });
      }
    }
    return known.sort((a, b) => b.number - a.number);
  }

  async #opened({ name, facts, sealed }: SecretRecord): Promise<EgressAuthority> {
    const key = (await this.#deps.seal()).open(sealed, name);
    return this.#egress.authority({ certificate: certificateOf(facts), key });
  }

  /**
   * The number follows those that this server has read, so it is the same on all servers, and they agree on the one that was
   * stored first.
   */
  async #add(): Promise<void> {
    const { secrets, seal, instance, days, clock } = this.#deps;
    const number = this.#highest + 1;
    const name = `${PREFIX}${number}`;
    const title = `svc ${instance.id.slice(0, 8)} ${number}`;
    const { certificate, key } = this.#egress.createAuthority(title, days * DAY_MS);
    const sealed = (await seal()).seal(key, name);
    const at = new Date(clock.now()).toISOString();
    await secrets.add({ name, facts: { certificate }, sealed, created_at: at, updated_at: at });
    this.#known = undefined;
  }
}

const certificateOf = (facts: SecretRecord['facts']) => String(facts.certificate);

function numberOf({ name }: SecretRecord): number | undefined {
  const number = Number(name.slice(PREFIX.length));
  return name.startsWith(PREFIX) && Number.isSafeInteger(number) ? number : undefined;
}

function untilOf({ facts }: SecretRecord): number | undefined {
  try {
    return Date.parse(new X509Certificate(certificateOf(facts)).validTo);
  } catch {
    return undefined;
  }
}
