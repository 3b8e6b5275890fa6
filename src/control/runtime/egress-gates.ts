// The gates of running sandboxes that have an egress policy: opened with the sandbox, kept open over sessions and restarts of
// this server, closed with the sandbox.
import type { SandboxIo } from '../../agent/io.ts';
import type { Sessions } from '../../agent/sessions.ts';
import type { SystemActor } from '../../domain/actor.ts';
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import { credentialNames } from '../../domain/egress/policy-view.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger, Timer } from '../../domain/ports.ts';
import type {
  AppliedEgress,
  Egress,
  EgressAuthority,
  EgressCounters,
  EgressEvent,
  EgressGate,
} from '../../egress/egress.ts';
import type { EgressConfig } from '../../schema/config-egress.ts';
import type { QuotaStore } from '../../store/seam/quotas.ts';
import type { SandboxStore } from '../../store/store.ts';
import type { Publisher } from '../records/publish.ts';
import { appliedEgress, CUT_OFF, type GatedSandbox, isGated } from './applied-egress.ts';
import type { Authorities } from './authorities.ts';
import type { Credentials } from './credentials.ts';
import { NOTHING, sum } from './egress-counters.ts';
import { trustedAuthority, untrusted } from './gate-trust.ts';
import type { Runtime } from './runtimes.ts';

/** Sessions that a start of the server opens at once. */
const AT_ONCE = 8;
const [FIRST_RETRY_MS, LONGEST_RETRY_MS] = [1000, 30_000];
const MOST_ROWS = 100_000;

export interface EgressGatesDeps {
  /** Absent where nothing can be dialed. */
  egress: Egress | undefined;
  config: EgressConfig;
  sandboxes: Pick<SandboxStore, 'get' | 'inStates'>;
  quotas: Pick<QuotaStore, 'get'>;
  credentials: Pick<Credentials, 'of' | 'onChange'>;
  authorities: Pick<Authorities, 'all'>;
  /** Masks a text in all output until the returned function is called. */
  conceal(secret: string): () => void;
  sessions: Sessions<Runtime>;
  publisher: Publisher;
  clock: Clock;
  logger: Logger;
}

interface Entry {
  row: GatedSandbox;
  /** How often the row was replaced: an older row that was read meanwhile must not win. */
  changes: number;
  readonly gate: EgressGate;
  /** Settles when the newest policy is applied. */
  applied: Promise<void>;
  /** Timers of the next session, and of the next try with a policy. */
  retries: { serve?: Timer; apply?: Timer };
  /** Ends TLS under a certificate that its programs trust; undefined: they trust none. */
  authority?: EgressAuthority | undefined;
  /** Releases its session. */
  release?: () => void;
  /** Release the masks of its secrets. */
  concealed: readonly (() => void)[];
  isClosed: boolean;
}

export class EgressGates {
  readonly #deps: EgressGatesDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #starts = new ConcurrencyLimit(AT_ONCE);
  /** Counters of gates that are closed. */
  #past = NOTHING;
  #isStopped = false;

  constructor(deps: EgressGatesDeps) {
    this.#deps = deps;
    deps.credentials.onChange(() => void this.#credentialsChanged());
  }

  /** Resolves when programs of the sandbox can connect. Throws as the session and the gate do; then nothing is left open. */
  async open(row: GatedSandbox, signal: AbortSignal): Promise<void> {
    const entry = this.#enter(row);
    try {
      await this.#apply(entry);
      await this.#serve(entry, signal);
      if (row.egress.trust && !entry.authority) throw untrusted();
    } catch (error) {
      if (!entry.isClosed) this.close(row.id);
      throw error;
    }
  }

  /** Returns the certificate that programs of a new sandbox are to trust, in PEM. */
  async certificate(): Promise<string> {
    const [newest] = await this.#deps.authorities.all();
    return newest.certificate;
  }

  /** Whether TLS of its programs is ended for hosts with a credential. */
  intercepts(id: string): boolean {
    return this.#entries.get(id)?.authority !== undefined;
  }

  /** Undefined while the sandbox has no open gate here. */
  gate(id: string): EgressGate | undefined {
    return this.#entries.get(id)?.gate;
  }

  /**
   * Applies the policy of the row; connections that it does not allow are closed before this resolves. Rejects as the store does:
   * the sandbox is then cut off until a retry succeeds.
   */
  async change(row: GatedSandbox): Promise<void> {
    const entry = this.#entries.get(row.id);
    if (!entry) return;
    entry.row = row;
    entry.changes += 1;
    await this.#apply(entry);
  }

  /** Applies the ceiling of an owner that has changed. Never rejects. */
  async ownerChanged(owner_id: string): Promise<void> {
    for (const entry of [...this.#entries.values()])
      if (entry.row.owner_id === owner_id) await this.#apply(entry).catch(() => undefined);
  }

  async #credentialsChanged(): Promise<void> {
    const isUser = ({ row: { egress } }: Entry) => credentialNames(egress).length > 0;
    for (const entry of [...this.#entries.values()])
      if (isUser(entry)) await this.#apply(entry).catch(() => undefined);
  }

  /** Closes every connection of the sandbox. Idempotent. */
  close(id: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.#entries.delete(id);
    entry.isClosed = true;
    entry.retries.serve?.cancel();
    entry.retries.apply?.cancel();
    entry.release?.();
    for (const release of entry.concealed) release();
    this.#past = sum(this.#past, { ...entry.gate.counters, open: 0 });
    void entry.gate.close();
  }

  /** Opens the gates of all running sandboxes of this server in the background, a few at a time. */
  async start(): Promise<void> {
    if (!this.#deps.egress) return;
    const rows = await this.#deps.sandboxes.inStates(['running', 'unhealthy'], MOST_ROWS);
    for (const row of rows) if (isGated(row)) void this.#starts.run(() => this.#adopt(row));
  }

  /** Closes every connection. Resolves when nothing more can be opened. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const id of [...this.#entries.keys()]) this.close(id);
    await this.#deps.egress?.close();
  }

  /** Numbers for `/diagnostics`. */
  sizes(): Readonly<Record<string, number>> {
    return this.#deps.egress?.diagnostics() ?? {};
  }

  /** Counters of all gates since this server started. */
  totals(): EgressCounters {
    return [...this.#entries.values()].reduce((total, { gate }) => sum(total, gate.counters), this.#past);
  }

  /** Publishes a joined decision. */
  noted({ type, sandbox_id, ...data }: EgressEvent): void {
    const row = this.#entries.get(sandbox_id)?.row;
    if (row) this.#deps.publisher.note(type, row, data, 'system:egress' satisfies SystemActor);
  }

  /** The policy of a row with the layers of the server and the owner. */
  async applied({ egress, owner_id }: Pick<GatedSandbox, 'egress' | 'owner_id'>): Promise<AppliedEgress> {
    const ceiling = owner_id === undefined ? undefined : (await this.#deps.quotas.get(owner_id))?.egress;
    const policies = [egress.template, egress.spawn].filter((policy) => policy !== undefined);
    const credentials = await this.#deps.credentials.of(policies, owner_id);
    return appliedEgress(this.#deps.config, egress, { ceiling, credentials });
  }

  /** A gate that lets nothing through: changes of its policy find it from now on. */
  #enter(row: GatedSandbox): Entry {
    const { egress } = this.#deps;
    if (!egress || this.#isStopped)
      throw new ServiceError('not_implemented', 'This server opens no connections for sandboxes.');
    this.close(row.id);
    const gate = egress.open(row.id, CUT_OFF);
    const applied = Promise.resolve();
    const entry: Entry = { row, changes: 0, gate, applied, retries: {}, concealed: [], isClosed: false };
    this.#entries.set(row.id, entry);
    return entry;
  }

  /** One after the other, each with the newest row and ceiling. */
  #apply(entry: Entry): Promise<void> {
    const next = () => this.#applyNow(entry);
    entry.applied = entry.applied.then(next, next);
    return entry.applied;
  }

  async #applyNow(entry: Entry): Promise<void> {
    if (entry.isClosed) return;
    const { logger, clock } = this.#deps;
    entry.retries.apply?.cancel();
    try {
      const policy = { ...(await this.applied(entry.row)), authority: entry.authority };
      if (entry.isClosed) return;
      this.#conceal(entry, policy);
      await entry.gate.change(policy);
    } catch (err) {
      if (entry.isClosed) return;
      await entry.gate.change(CUT_OFF);
      const message = 'Could not apply the egress policy of a sandbox; it is cut off. Retrying.';
      logger.warn({ sandbox_id: entry.row.id, err }, message);
      entry.retries.apply = clock.after(FIRST_RETRY_MS, () => void this.#apply(entry).catch(() => undefined));
      throw err;
    }
  }

  /** Values of credentials are masked while they may be used. */
  #conceal(entry: Entry, { credentials }: AppliedEgress): void {
    const before = entry.concealed;
    entry.concealed = credentials
      .flatMap(({ value, text }) => [value, text])
      .map((secret) => this.#deps.conceal(secret));
    for (const release of before) release();
  }

  /** Holds the session, so that it is not closed while nobody calls. */
  async #serve(entry: Entry, signal: AbortSignal): Promise<void> {
    const hold = await this.#deps.sessions.acquire(entry.row, signal);
    try {
      await this.#trust(entry, hold.io);
      await entry.gate.serve(hold.io);
    } catch (error) {
      hold.release();
      throw error;
    }
    let isHeld = true;
    const release = () => {
      if (isHeld) hold.release();
      isHeld = false;
    };
    entry.release = release;
    void hold.io.closed.then(() => {
      release();
      this.#later(entry, FIRST_RETRY_MS);
    });
    if (entry.isClosed) release();
  }

  async #trust(entry: Entry, io: SandboxIo): Promise<void> {
    if (!entry.row.egress.trust) return;
    const authority = await trustedAuthority(io, this.#deps.authorities);
    if (authority === entry.authority) return;
    entry.authority = authority;
    await this.#apply(entry);
  }

  /** Never rejects. */
  async #adopt(row: GatedSandbox): Promise<void> {
    if (this.#isStopped || this.#entries.has(row.id)) return;
    await this.#again(this.#enter(row), FIRST_RETRY_MS);
  }

  #later(entry: Entry, ms: number): void {
    if (entry.isClosed || this.#isStopped) return;
    entry.retries.serve = this.#deps.clock.after(
      ms,
      () => void this.#again(entry, Math.min(ms * 2, LONGEST_RETRY_MS)),
    );
  }

  /** Serves over a new session while the sandbox runs. Never rejects. */
  async #again(entry: Entry, ms: number): Promise<void> {
    const { changes, row: known } = entry;
    const { id } = known;
    try {
      const row = await this.#deps.sandboxes.get(id);
      if (entry.isClosed) return;
      if (!row || !isGated(row)) return this.close(id);
      if (entry.changes === changes) entry.row = row;
      await this.#apply(entry);
      await this.#serve(entry, new AbortController().signal);
    } catch (err) {
      if (entry.isClosed) return;
      this.#deps.logger.warn(
        { sandbox_id: id, err },
        'Could not open the egress gate of a sandbox; retrying.',
      );
      this.#later(entry, ms);
    }
  }
}
