// What sandboxes say of themselves: full file systems, and in virtual machines memory and network, which no host can count. A guest
// can forge all of it, so it is shown where somebody looks at one sandbox, and never enters the ledger.
import type { GuestFacts } from '../../agent/guest-facts.ts';
import type { SandboxIo } from '../../agent/io.ts';
import type { Sessions } from '../../agent/sessions.ts';
import { ServiceError } from '../../domain/errors.ts';
import { keepNewest } from '../../domain/keep-newest.ts';
import type { Clock } from '../../domain/ports.ts';
import { withTimeout } from '../../domain/timeout.ts';
import type { SandboxRecord } from '../../store/store.ts';
import type { Runtime } from '../runtime/runtimes.ts';

/** An answer counts for so long: somebody who looks asks every 2 s. */
const FRESH_MS = 5000;
const CALL_MS = 2000;
const MOST_KEPT = 200;

export interface GuestDeps {
  sessions: Pick<Sessions<Runtime>, 'acquire'>;
  clock: Clock;
}

export class Guests {
  readonly #deps: GuestDeps;
  readonly #kept = new Map<string, { at: number; answer: Promise<GuestFacts | undefined> }>();

  constructor(deps: GuestDeps) {
    this.#deps = deps;
  }

  /** Undefined where nothing of ours runs inside, for a tenant of a pool, and if it does not answer within 2 s. Never throws. */
  async of(row: SandboxRecord): Promise<GuestFacts | undefined> {
    if (row.state !== 'running' || row.vm_id !== undefined) return undefined;
    const now = this.#deps.clock.monotonic();
    const known = this.#kept.get(row.id);
    if (known && now - known.at < FRESH_MS) return known.answer;
    const answer = this.#ask(row).then(
      (usage) => usage && trusted(row, usage),
      () => undefined,
    );
    keepNewest(this.#kept, row.id, { at: now, answer }, MOST_KEPT);
    return answer;
  }

  async #ask(row: SandboxRecord): Promise<GuestFacts | undefined> {
    const { sessions, clock } = this.#deps;
    const error = () => new ServiceError('timeout', 'The sandbox did not say in time what it uses.');
    return withTimeout({ clock, ms: CALL_MS, error }, async (signal) => {
      const { io, release } = await sessions.acquire(row, signal);
      try {
        return await (io as SandboxIo).usage?.(signal);
      } finally {
        release();
      }
    });
  }
}

/** A sandbox without its own kernel sees the memory and network of its host. */
function trusted({ provider }: SandboxRecord, { disks, ...rest }: GuestFacts): GuestFacts {
  return provider === 'microvm' ? { ...rest, disks } : { disks };
}
