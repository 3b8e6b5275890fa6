// The gates of this worker's sandboxes: it decides and connects, under orders of its control plane, which are in memory alone. An order
// holds while its sandbox runs, so while the lease lasts; after a restart the control plane sends it again.
import type { SessionHold } from '../agent/sessions.ts';
import { appliedPolicy } from '../domain/egress/applied.ts';
import { ServiceError } from '../domain/errors.ts';
import type { Clock, Logger, Timer } from '../domain/ports.ts';
import type { Egress, EgressAuthority, EgressCounters, EgressEvent, EgressGate } from '../egress/egress.ts';
import type { EgressConfig } from '../schema/config-egress.ts';
import type { EgressAnswer, EgressOrder, EgressReport } from '../schema/worker-egress.ts';
import type { WorkerSandbox } from './worker-sandboxes.ts';

const [FIRST_RETRY_MS, LONGEST_RETRY_MS] = [1000, 30_000];
/** Older ones belong to authorities that servers have renewed. */
const MOST_AUTHORITIES = 64;

export interface WorkerEgressDeps {
  egress: Egress;
  /** The rules of this worker, which narrow every order. */
  own: EgressConfig;
  /** The session of a running sandbox; undefined for one that does not run here. Rejects as the session does. */
  session(id: string): Promise<SessionHold> | undefined;
  /** Masks a text in all output until the returned function is called. */
  conceal(secret: string): () => void;
  clock: Clock;
  logger: Logger;
}

/** Who reads the decisions of a sandbox: a link. */
export interface EgressReader {
  send(news: EgressAnswer): void;
  /** Ends the link. Idempotent. */
  end(): void;
}

interface Entry {
  readonly id: string;
  readonly gate: EgressGate;
  order: EgressOrder;
  /** How many were applied. */
  orders: number;
  authority?: EgressAuthority | undefined;
  /** Pending or settled while the ports are served. */
  serving?: Promise<void> | undefined;
  release?: () => void;
  retry?: Timer;
  concealed: readonly (() => void)[];
  counted: EgressCounters;
  isClosed: boolean;
}

export class WorkerEgress {
  readonly #deps: WorkerEgressDeps;
  readonly #entries = new Map<string, Entry>();
  /** Links to each sandbox, in the order in which they came: the newest gets what only one may count. */
  readonly #links = new Map<string, Set<EgressReader>>();
  /** The key is the certificate: a new session keeps the leaves. */
  readonly #authorities = new Map<string, EgressAuthority>();

  constructor(deps: WorkerEgressDeps) {
    this.#deps = deps;
  }

  /**
   * Opens the gate of a running sandbox, or changes its policy. Resolves when forbidden connections are closed and programs can
   * connect; with false, and without a change, when other orders than the first `after` were applied. Throws `bad_request` for
   * an order that cannot be read, and as the session does; the order before then stays.
   */
  async apply({ record }: WorkerSandbox, order: EgressOrder, after?: number): Promise<boolean> {
    const policy = appliedPolicy(order, this.#deps.own);
    const { sandbox_id: id } = record;
    const known = this.#entries.get(id);
    if (after !== undefined && after !== (known?.orders ?? 0)) return false;
    const entry = known ?? this.#enter(id, order);
    entry.order = order;
    entry.orders += 1;
    this.#conceal(entry);
    await entry.gate.change({ ...policy, authority: entry.authority });
    await this.#served(entry);
    return true;
  }

  /** Throws `unavailable` while no order has come. */
  gate(id: string): EgressGate {
    const entry = this.#entries.get(id);
    if (entry) return entry.gate;
    throw new ServiceError('unavailable', 'This worker has no egress policy for the sandbox yet.');
  }

  /** Makes the link the newest: it gets news of the sandbox, and ends with it, until the returned function is called. */
  read(id: string, link: EgressReader): () => void {
    const links = this.#links.get(id) ?? new Set();
    links.delete(link);
    this.#links.set(id, links.add(link));
    return () => {
      links.delete(link);
      if (links.size === 0 && this.#links.get(id) === links) this.#links.delete(id);
    };
  }

  /** Undefined while there is no gate. `added` is for the newest reader alone. */
  report(id: string, reader: EgressReader): EgressReport | undefined {
    const entry = this.#entries.get(id);
    if (!entry) return undefined;
    const { counters, missing } = entry.gate;
    const intercepts = entry.authority !== undefined;
    const { orders } = entry;
    const report = { counters: { ...counters }, missing: [...missing], intercepts, orders };
    if (this.#newest(id) !== reader) return report;
    const added = difference(counters, entry.counted);
    entry.counted = { ...counters };
    return { ...report, added };
  }

  /** Sends a joined decision to the newest reader; without one it is only in the log. */
  noted({ sandbox_id, ...event }: EgressEvent): void {
    this.#newest(sandbox_id)?.send({ event });
  }

  #newest(id: string): EgressReader | undefined {
    return [...(this.#links.get(id) ?? [])].at(-1);
  }

  /** Closes every connection of the sandbox, and the links of control planes to it. Idempotent. */
  close(id: string): void {
    for (const link of [...(this.#links.get(id) ?? [])]) link.end();
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.#entries.delete(id);
    // Keys stay no longer than somebody uses them.
    if (this.#entries.size === 0) this.#authorities.clear();
    entry.isClosed = true;
    entry.retry?.cancel();
    entry.release?.();
    for (const release of entry.concealed) release();
    void entry.gate.close();
  }

  async closeAll(): Promise<void> {
    for (const id of [...this.#entries.keys()]) this.close(id);
    await this.#deps.egress.close();
  }

  #enter(id: string, order: EgressOrder): Entry {
    const { egress, own } = this.#deps;
    const gate = egress.open(id, appliedPolicy(order, own));
    const counted = { ...gate.counters };
    const entry = { id, gate, order, orders: 0, concealed: [], counted, isClosed: false };
    this.#entries.set(id, entry);
    return entry;
  }

  /** Values of credentials are masked while they may be used. */
  #conceal(entry: Entry): void {
    const before = entry.concealed;
    entry.concealed = [
      ...entry.order.credentials.flatMap(({ value, text }) => [value, text]),
      ...entry.order.authorities.map(({ key }) => key),
    ].map((secret) => this.#deps.conceal(secret));
    for (const release of before) release();
  }

  #served(entry: Entry): Promise<void> {
    if (!entry.serving) {
      const serving = this.#serve(entry);
      entry.serving = serving;
      serving.catch(() => {
        if (entry.serving === serving) entry.serving = undefined;
      });
    }
    return entry.serving;
  }

  /** Holds the session, so that it is not closed while nobody calls. */
  async #serve(entry: Entry): Promise<void> {
    const hold = await this.#deps.session(entry.id);
    if (!hold) {
      this.close(entry.id);
      throw new ServiceError('not_found', 'This worker does not run this sandbox.');
    }
    try {
      await this.#trust(entry, hold.io);
      await entry.gate.serve(hold.io);
    } catch (error) {
      hold.release();
      throw error;
    }
    entry.release = () => hold.release();
    void hold.io.closed.then(() => {
      hold.release();
      entry.serving = undefined;
      this.#later(entry, FIRST_RETRY_MS);
    });
    if (entry.isClosed) hold.release();
  }

  async #trust(entry: Entry, io: Parameters<Egress['trusted']>[0]): Promise<void> {
    const { egress, own } = this.#deps;
    const authorities = entry.order.authorities.map((pair) => this.#authority(pair));
    if (authorities.length === 0) return;
    entry.authority = await egress.trusted(io, authorities);
    await entry.gate.change({ ...appliedPolicy(entry.order, own), authority: entry.authority });
  }

  #authority(pair: EgressOrder['authorities'][number]): EgressAuthority {
    const known = this.#authorities.get(pair.certificate);
    if (!known && this.#authorities.size >= MOST_AUTHORITIES) this.#authorities.clear();
    const authority = known ?? this.#deps.egress.authority(pair);
    this.#authorities.set(pair.certificate, authority);
    return authority;
  }

  #later(entry: Entry, ms: number): void {
    if (entry.isClosed) return;
    entry.retry?.cancel();
    entry.retry = this.#deps.clock.after(ms, () => {
      this.#served(entry).catch((err: unknown) => {
        if (entry.isClosed) return;
        const message = 'Could not open the egress gate of a sandbox; retrying.';
        this.#deps.logger.warn({ sandbox_id: entry.id, err }, message);
        this.#later(entry, Math.min(ms * 2, LONGEST_RETRY_MS));
      });
    });
  }
}

function difference(now: EgressCounters, before: EgressCounters): EgressCounters {
  const { allowed, denied, failed, open, sent_bytes, received_bytes } = now;
  return {
    allowed: allowed - before.allowed,
    denied: denied - before.denied,
    failed: failed - before.failed,
    // Of now: it does not add up.
    open: Math.max(0, open - before.open),
    sent_bytes: sent_bytes - before.sent_bytes,
    received_bytes: received_bytes - before.received_bytes,
  };
}
