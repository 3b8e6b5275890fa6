// Claims of prewarmed sandboxes among processes that share a store. A process works on a row only after its id is in it. The
// claim of a dead process, and one that stands too long, is taken back: whoever had it finds its next write refused. A row
// that is `ending` never becomes ready again, so a process that froze while it ended one cannot end a sandbox.
import type { Clock } from '../../domain/ports.ts';
import type { PrewarmedRecord, PrewarmedStore } from '../../store/seam/prewarmed.ts';
import type { PrewarmEntry, PrewarmStock, WhereReady } from '../runtime/prewarm-stock.ts';
import type { Replicas } from '../runtime/replicas.ts';
import type { PrewarmClaims } from './claims.ts';

/** Longer than a spawn needs: for the session, a ping and one write. Older claims have lost their owner. */
const LONGEST_CLAIM_MS = 30_000;

export interface SharedClaimsDeps {
  warm: Pick<PrewarmedStore, 'all' | 'take' | 'putBack' | 'end'>;
  replicas: Pick<Replicas, 'isAlive'>;
  /** The id of this process. */
  replica: string;
  clock: Clock;
}

export class SharedClaims implements PrewarmClaims {
  readonly areShared = true;
  readonly replica_id: string;
  readonly #stock: PrewarmStock;
  readonly #deps: SharedClaimsDeps;

  constructor(stock: PrewarmStock, deps: SharedClaimsDeps) {
    this.#stock = stock;
    this.#deps = deps;
    this.replica_id = deps.replica;
  }

  async take(shape: string, where: WhereReady): Promise<PrewarmEntry | undefined> {
    const row = await this.#deps.warm.take({ shape, replica_id: this.replica_id, ...where });
    return row && this.#put(row, 'taken', false);
  }

  async putBack(entry: PrewarmEntry): Promise<void> {
    entry.state = 'unsure';
    await this.#deps.warm.putBack(entry.row.id, this.replica_id);
    // If a spawn has it after all, the next refresh forgets it.
    this.#put(atRest(entry.row), 'ready', false);
  }

  async end(entry: PrewarmEntry): Promise<boolean> {
    const { id, replica_id } = entry.row;
    if (!(await this.#deps.warm.end(id, replica_id, this.replica_id))) return false;
    entry.row = { ...entry.row, state: 'ending', replica_id: this.replica_id };
    return true;
  }

  async refresh(): Promise<void> {
    const before = this.#stock.all().filter((entry) => !isOurs(entry));
    const rows = await this.#deps.warm.all();
    const known = new Set(rows.map(({ id }) => id));
    for (const entry of before) if (!known.has(entry.row.id) && !isOurs(entry)) this.#stock.forget(entry);
    for (const row of rows) {
      const entry = this.#stock.get(row.id);
      if (entry && isOurs(entry)) continue;
      const state = row.state === 'ready' && row.replica_id !== undefined ? 'taken' : row.state;
      this.#put(row, state, state !== 'ready');
    }
  }

  isAbandoned({ row: { state, replica_id }, isElsewhere, since }: PrewarmEntry): boolean {
    if (!isElsewhere) return false;
    const { replicas, clock } = this.#deps;
    const isOwn = replica_id === this.replica_id;
    if (!isOwn && !replicas.isAlive(replica_id)) return true;
    // This process knows all that it starts and ends.
    if (state !== 'ready') return isOwn;
    return clock.monotonic() - (since ?? clock.monotonic()) >= LONGEST_CLAIM_MS;
  }

  async recover(entry: PrewarmEntry): Promise<void> {
    const { id, replica_id } = entry.row;
    if (replica_id !== undefined) await this.#deps.warm.putBack(id, replica_id);
  }

  #put(row: PrewarmedRecord, state: PrewarmEntry['state'], isElsewhere: boolean): PrewarmEntry {
    const now = this.#deps.clock.monotonic();
    const known = this.#stock.get(row.id);
    const entry = known ?? { row, state, abort: new AbortController(), making: Promise.resolve() };
    const isSame =
      known?.since !== undefined && known.row.state === row.state && known.row.replica_id === row.replica_id;
    Object.assign(entry, { row, state, isElsewhere, since: isSame ? known.since : now });
    if (!known) this.#stock.add(entry);
    return entry;
  }
}

/** This process works on it, so its row tells nothing new. */
const isOurs = ({ state, isElsewhere }: PrewarmEntry): boolean => state !== 'ready' && !isElsewhere;

function atRest({ replica_id: _, ...row }: PrewarmedRecord): PrewarmedRecord {
  return row;
}
