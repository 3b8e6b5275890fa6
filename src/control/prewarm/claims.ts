// Who may use a prewarmed sandbox. Where one process has the store for itself, its stock in memory decides. Where several
// share it, each claims in the row (compare-and-swap), and its stock is only a view of the rows.
import type { PrewarmedStore } from '../../store/seam/prewarmed.ts';
import type { PrewarmEntry, PrewarmStock, WhereReady } from '../runtime/prewarm-stock.ts';

export interface PrewarmClaims {
  /** Other processes have claims, too: `refresh` follows them. */
  readonly areShared: boolean;
  /** In rows that this process works on. */
  readonly replica_id: string | undefined;
  /** Takes a ready one for a spawn of this process. */
  take(shape: string, where: WhereReady): Promise<PrewarmEntry | undefined>;
  /** A taken one was not needed, or it is unknown whether a spawn has it: makes it ready again, unless a spawn has it. */
  putBack(entry: PrewarmEntry): Promise<void>;
  /** Whether this process may end it now. False: another one has it, or it no longer exists. */
  end(entry: PrewarmEntry): Promise<boolean>;
  /** Brings the stock up to date with the rows. Those of others are then `isElsewhere`. */
  refresh(): Promise<void>;
  /** Whether nobody works on it any more, although its row names somebody. */
  isAbandoned(entry: PrewarmEntry): boolean;
  /** Makes an abandoned ready one takeable again. */
  recover(entry: PrewarmEntry): Promise<void>;
}

/** The claims of a process that has the store for itself: it writes nothing. */
export function soleClaims(stock: PrewarmStock, warm: Pick<PrewarmedStore, 'get'>): PrewarmClaims {
  return {
    areShared: false,
    replica_id: undefined,
    take: async (shape, { worker_id, except = [] }) => {
      const fits = (on: string) => (worker_id ?? on) === on && !except.includes(on);
      return stock.take(shape, fits);
    },
    putBack: async (entry) => {
      if (entry.state !== 'unsure' || (await warm.get(entry.row.id))) entry.state = 'ready';
      else stock.forget(entry);
    },
    end: async () => true,
    refresh: async () => {},
    isAbandoned: () => false,
    recover: async () => {},
  };
}
