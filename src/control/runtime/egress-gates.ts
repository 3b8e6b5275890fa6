// The gates of running sandboxes that have an egress policy: opened with the sandbox, kept open over sessions and restarts of
// this server, closed with the sandbox. Those on workers are opened by every server that needs them, and kept by one.
import { setImmediate } from 'node:timers/promises';
import type { GateOrder } from '../../agent/gate-io.ts';
import type { SystemActor } from '../../domain/actor.ts';
import { appliedPolicy } from '../../domain/egress/applied.ts';
import { credentialNames } from '../../domain/egress/policy-view.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { EgressCounters, EgressEvent } from '../../egress/egress.ts';
import type { EgressOrder } from '../../schema/worker-egress.ts';
import type { SandboxRecord } from '../../store/store.ts';
import { type GatedSandbox, isGated, isHere } from './applied-egress.ts';
import { NOTHING, sum } from './egress-counters.ts';
import { type EgressGatesDeps, type Entry, untrusted } from './egress-entry.ts';
import { orderOf } from './egress-orders.ts';
import { sendNewest, sendOrder } from './egress-send.ts';
import { GateAdoption, type GatedRow } from './gate-adoption.ts';
import type { GateView, HeldGate } from './held-gate.ts';
import { LocalGate } from './local-gate.ts';
import { RemoteGate } from './remote-gate.ts';

const [FIRST_RETRY_MS, LONGEST_RETRY_MS] = [1000, 30_000];

const forever = () => new AbortController().signal;

export class EgressGates {
  readonly #deps: EgressGatesDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #adoption: GateAdoption;
  /** Counters of gates that are closed. */
  #past = NOTHING;
  #isStopped = false;

  constructor(deps: EgressGatesDeps) {
    this.#deps = deps;
    this.#adoption = new GateAdoption({
      gates: deps,
      held: (id) => this.#entries.get(id),
      adopt: (row) => this.#adopt(row),
      renew: (entry) => this.#apply(entry).catch(() => undefined),
    });
    deps.credentials.onChange(() => void this.#credentialsChanged());
  }

  /** Resolves when programs of the sandbox can connect. Throws as the session and the gate do; then nothing is left open. */
  async open(row: GatedSandbox, signal: AbortSignal): Promise<void> {
    const entry = this.#enter(row);
    entry.opened = this.#serveFirst(entry, signal);
    await entry.opened;
    if (!row.egress.trust || entry.held.view.intercepts) return;
    this.close(row.id);
    throw untrusted();
  }

  /** The ports by which programs of a new sandbox of this server connect; undefined on a worker. Rejects as the store does. */
  async ports(row: GatedSandbox): Promise<GateOrder | undefined> {
    if (!this.#deps.egress || !isHere(row)) return undefined;
    const { ports, proxy_port = this.#deps.config.proxy_port } = appliedPolicy(await this.order(row));
    return { proxy_port, ...(ports && { ports }) };
  }

  /**
   * Opens the gate of a sandbox that runs, in a later turn of the event loop, so that an answer leaves before. Retries while that
   * fails, with the sandbox cut off. Never rejects.
   */
  readonly hold = async (row: GatedRow): Promise<void> => {
    if (this.#isStopped || this.#entries.has(row.id)) return;
    const entry = this.#enter(row);
    entry.opened = setImmediate().then(() => this.#again(entry, FIRST_RETRY_MS));
    await entry.opened;
  };

  /** Closes every connection of the sandbox and forgets its policy and its log, on a worker, too. Never rejects. */
  async withdraw(id: string): Promise<void> {
    await this.#entries.get(id)?.held.withdraw?.();
    this.close(id);
  }

  /** Returns the certificate that programs of a new sandbox are to trust, in PEM. */
  async certificate(): Promise<string> {
    const [newest] = await this.#deps.authorities.all();
    return newest.certificate;
  }

  /** Undefined while the sandbox has no open gate here. */
  gate(id: string): GateView | undefined {
    return this.#entries.get(id)?.held.view;
  }

  /** The same, once the gate on a worker is reached. Rejects with `unavailable` where its worker cannot be. */
  async reach(row: SandboxRecord): Promise<GateView | undefined> {
    const known = this.#entries.get(row.id);
    if (known) await known.opened;
    else if (this.#deps.egress && isGated(row) && !isHere(row)) await this.open(row, forever());
    return this.gate(row.id);
  }

  /**
   * Applies the policy of the row; connections that it does not allow are closed before this resolves. Rejects as the store does:
   * the sandbox is then cut off until a retry succeeds.
   */
  async change(row: SandboxRecord & GatedSandbox): Promise<void> {
    const entry = this.#entries.get(row.id);
    if (!entry) return void (await this.reach(row));
    entry.row = row;
    entry.changes += 1;
    await this.#apply(entry);
    // Its new ports are open once it is served.
    await entry.opened?.catch(() => undefined);
  }

  /** Applies the ceiling of an owner that has changed. Never rejects. */
  async ownerChanged(owner_id: string): Promise<void> {
    const isTheirs = ({ row }: Entry) => row.owner_id === owner_id;
    await this.#applyAll(isTheirs);
    for (const row of await this.#adoption.rowsOfWorkers().catch(() => []))
      if (row.owner_id === owner_id && !this.#entries.has(row.id))
        await this.reach(row).catch(() => undefined);
  }

  async #credentialsChanged(): Promise<void> {
    const isUser = ({ row: { egress } }: Entry) => credentialNames(egress).length > 0;
    await this.#applyAll(isUser);
  }

  /** A worker that hangs delays no other gate. Never rejects. */
  async #applyAll(isMeant: (entry: Entry) => boolean): Promise<void> {
    const entries = [...this.#entries.values()].filter(isMeant);
    await Promise.all(entries.map((entry) => this.#apply(entry).catch(() => undefined)));
  }

  /** Closes every connection of the sandbox, unless its worker keeps them. Idempotent. */
  close(id: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.#entries.delete(id);
    entry.isClosed = true;
    entry.retries.serve?.cancel();
    entry.retries.apply?.cancel();
    entry.release?.();
    for (const release of entry.concealed) release();
    this.#past = sum(this.#past, { ...entry.held.counted, open: 0 });
    entry.held.close();
  }

  /** Opens the gates of all running sandboxes in the background, a few at a time: those of workers on one server of a database. */
  async start(): Promise<void> {
    if (this.#deps.egress) await this.#adoption.start();
  }

  /** Closes every connection of this server. Resolves when nothing more can be opened. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#adoption.stop();
    for (const id of [...this.#entries.keys()]) this.close(id);
    await this.#deps.egress?.close();
  }

  /** Numbers for `/diagnostics`. */
  sizes(): Readonly<Record<string, number>> {
    return this.#deps.egress?.diagnostics() ?? {};
  }

  /** Counters of all gates since this server started. */
  totals(): EgressCounters {
    return [...this.#entries.values()].reduce((total, { held }) => sum(total, held.counted), this.#past);
  }

  /** Publishes a joined decision. */
  noted({ type, sandbox_id, ...data }: EgressEvent): void {
    const row = this.#entries.get(sandbox_id)?.row;
    if (row) this.#deps.publisher.note(type, row, data, 'system:egress' satisfies SystemActor);
  }

  /** What is applied to a row, or would be. */
  order(row: Pick<GatedSandbox, 'egress' | 'owner_id'>): Promise<EgressOrder> {
    return orderOf(this.#deps, row);
  }

  /** A gate that lets nothing through: changes of its policy find it from now on. */
  #enter(row: GatedSandbox): Entry {
    const { egress } = this.#deps;
    if (!egress || this.#isStopped)
      throw new ServiceError('not_implemented', 'This server opens no connections for sandboxes.');
    this.close(row.id);
    const held = isHere(row) ? new LocalGate(row.id, { ...this.#deps, egress }) : this.#remote(row.id);
    const applied = Promise.resolve();
    const entry: Entry = { row, changes: 0, held, applied, retries: {}, concealed: [], isClosed: false };
    this.#entries.set(row.id, entry);
    return entry;
  }

  #remote(sandbox_id: string): HeldGate {
    const onEvent = (event: Omit<EgressEvent, 'sandbox_id'>) => this.noted({ ...event, sandbox_id });
    return new RemoteGate({ open: this.#deps.openLink, clock: this.#deps.clock, onEvent });
  }

  async #serveFirst(entry: Entry, signal: AbortSignal): Promise<void> {
    try {
      await this.#connect(entry, signal);
    } catch (error) {
      if (!entry.isClosed) this.close(entry.row.id);
      throw error;
    }
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
      if (isHere(entry.row)) await sendOrder(entry, await this.order(entry.row), this.#deps);
      else await sendNewest(entry, this.#deps);
    } catch (err) {
      if (entry.isClosed) return;
      await entry.held.cut();
      const message = 'Could not apply the egress policy of a sandbox; it is cut off. Retrying.';
      logger.warn({ sandbox_id: entry.row.id, err }, message);
      // Over the next link it is applied anyway.
      if (isHere(entry.row) || entry.held.view.isOpen)
        entry.retries.apply = clock.after(
          FIRST_RETRY_MS,
          () => void this.#apply(entry).catch(() => undefined),
        );
      throw err;
    }
  }

  /** A worker gets its policy over the connection; here nothing is served before there is one. */
  async #connect(entry: Entry, signal: AbortSignal): Promise<void> {
    if (isHere(entry.row)) await this.#apply(entry);
    await this.#serve(entry, signal);
    if (!isHere(entry.row)) await this.#apply(entry);
  }

  async #serve(entry: Entry, signal: AbortSignal): Promise<void> {
    const { closed, release } = await entry.held.serve(entry.row, signal);
    entry.release = release;
    void closed.then(() => {
      release();
      if (entry.release === release) this.#later(entry, FIRST_RETRY_MS);
    });
    if (entry.isClosed) release();
  }

  async #adopt(row: GatedRow): Promise<void> {
    if (this.#isStopped || this.#entries.has(row.id)) return;
    await this.#again(this.#enter(row), FIRST_RETRY_MS);
  }

  #later(entry: Entry, ms: number): void {
    if (entry.isClosed || this.#isStopped) return;
    entry.retries.serve?.cancel();
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
      await this.#connect(entry, forever());
    } catch (err) {
      if (entry.isClosed) return;
      // First: the end of the link would start the retries with the shortest pause.
      const { release } = entry;
      Reflect.deleteProperty(entry, 'release');
      release?.();
      this.#deps.logger.warn(
        { sandbox_id: id, err },
        'Could not open the egress gate of a sandbox; retrying.',
      );
      this.#later(entry, ms);
    }
  }
}
