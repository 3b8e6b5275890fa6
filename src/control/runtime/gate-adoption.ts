// Finds gates that a server has to hold and does not: its own after a start, and those of workers that no other server keeps.
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import type { SandboxRecord } from '../../store/store.ts';
import { Periodic } from '../async/periodic.ts';
import { type GatedSandbox, isGated, isHere } from './applied-egress.ts';
import type { EgressGatesDeps, Entry } from './egress-entry.ts';
import { orderForWorker, ordersOnce } from './egress-orders.ts';

/** Gates that are opened at once. */
const AT_ONCE = 8;
const MOST_ROWS = 100_000;
/** How often one server looks for gates of workers that no server holds any more. */
const LOOK_MS = 15_000;

export type GatedRow = SandboxRecord & GatedSandbox;

export interface AdoptionDeps {
  gates: Pick<EgressGatesDeps, 'egress' | 'sandboxes' | 'roles' | 'clock' | 'logger'> &
    Parameters<typeof ordersOnce>[0];
  held(id: string): Entry | undefined;
  /** Never rejects. */
  adopt(row: GatedRow): Promise<void>;
  /** Sends the policy again. Never rejects. */
  renew(entry: Entry): Promise<void>;
}

export class GateAdoption {
  readonly #deps: AdoptionDeps;
  readonly #starts = new ConcurrencyLimit(AT_ONCE);
  readonly #adopting = new Set<string>();
  readonly #looks: Periodic;

  constructor(deps: AdoptionDeps) {
    this.#deps = deps;
    this.#looks = new Periodic(deps.gates.clock, LOOK_MS, () => this.#look());
  }

  /** Resolves when all rows are known; their gates are opened in the background, those of workers by one server of a database. */
  async start(): Promise<void> {
    for (const row of await this.#rows()) if (isHere(row)) this.#soon(row);
    this.#deps.gates.roles.watch('upkeep', { gained: () => this.#looks.startSoon() });
    await this.#looks.start();
  }

  stop(): Promise<void> {
    return this.#looks.stop();
  }

  async rowsOfWorkers(): Promise<GatedRow[]> {
    return this.#deps.gates.egress ? (await this.#rows()).filter((row) => !isHere(row)) : [];
  }

  async #rows(): Promise<GatedRow[]> {
    const rows = await this.#deps.gates.sandboxes.inStates(['running', 'unhealthy'], MOST_ROWS);
    return rows.filter(isGated);
  }

  /** Adopts what a server held that has ended, and sends what another server could not send. Never rejects. */
  async #look(): Promise<void> {
    const { gates, held, renew } = this.#deps;
    if (!gates.roles.holds('upkeep')) return;
    try {
      const orders = ordersOnce(gates);
      for (const row of await this.rowsOfWorkers()) {
        const entry = held(row.id);
        if (!entry) this.#soon(row);
        else if (entry.sent !== undefined && entry.sent !== JSON.stringify(await orderForWorker(orders, row)))
          void renew(entry);
      }
    } catch (err) {
      gates.logger.debug({ err }, 'Could not look for egress gates of workers; retrying.');
    }
  }

  /** Never rejects. */
  #soon(row: GatedRow): void {
    if (this.#adopting.has(row.id)) return;
    this.#adopting.add(row.id);
    const adopt = () => this.#deps.adopt(row);
    void this.#starts.run(adopt).finally(() => this.#adopting.delete(row.id));
  }
}
