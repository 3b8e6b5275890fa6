// The gate of a sandbox of this server, over the session with its agent.
import type { SandboxIo } from '../../agent/io.ts';
import type { Sessions } from '../../agent/sessions.ts';
import { appliedPolicy } from '../../domain/egress/applied.ts';
import type {
  Egress,
  EgressAuthority,
  EgressCounters,
  EgressGate,
  EgressLogQuery,
} from '../../egress/egress.ts';
import type { EgressOrder } from '../../schema/worker-egress.ts';
import { CUT_OFF, type GatedSandbox } from './applied-egress.ts';
import type { Authorities } from './authorities.ts';
import type { GateView, HeldGate, Serving } from './held-gate.ts';
import type { Runtime } from './runtimes.ts';

export interface LocalGateDeps {
  egress: Egress;
  authorities: Pick<Authorities, 'all'>;
  sessions: Sessions<Runtime>;
}

export class LocalGate implements HeldGate, GateView {
  readonly view = this;
  readonly isOpen = true;
  readonly #gate: EgressGate;
  readonly #deps: LocalGateDeps;
  #order: EgressOrder | undefined;
  /** Ends TLS under a certificate that its programs trust; undefined: they trust none. */
  #authority: EgressAuthority | undefined;

  constructor(id: string, deps: LocalGateDeps) {
    this.#deps = deps;
    this.#gate = deps.egress.open(id, CUT_OFF);
  }

  get counters(): EgressCounters {
    return this.#gate.counters;
  }

  get counted(): EgressCounters {
    return this.#gate.counters;
  }

  get missing(): readonly number[] {
    return this.#gate.missing;
  }

  get intercepts(): boolean {
    return this.#authority !== undefined;
  }

  check(host: string, port: number) {
    return this.#gate.check(host, port);
  }

  log(query?: EgressLogQuery) {
    return this.#gate.log(query);
  }

  follow(signal: AbortSignal) {
    return this.#gate.follow(signal);
  }

  async apply(order: EgressOrder): Promise<boolean> {
    this.#order = order;
    await this.#gate.change({ ...appliedPolicy(order), authority: this.#authority });
    return true;
  }

  async cut(): Promise<void> {
    this.#order = undefined;
    await this.#gate.change(CUT_OFF);
  }

  /** Holds the session, so that it is not closed while nobody calls. */
  async serve(row: GatedSandbox, signal: AbortSignal): Promise<Serving> {
    const hold = await this.#deps.sessions.acquire(row, signal);
    try {
      if (row.egress.trust) await this.#trust(hold.io);
      await this.#gate.serve(hold.io);
    } catch (error) {
      hold.release();
      throw error;
    }
    return { closed: hold.io.closed, release: () => hold.release() };
  }

  close(): void {
    void this.#gate.close();
  }

  async #trust(io: SandboxIo): Promise<void> {
    const { egress, authorities } = this.#deps;
    const authority = await egress.trusted(io, await authorities.all());
    if (authority === this.#authority) return;
    this.#authority = authority;
    if (this.#order) await this.apply(this.#order);
  }
}
