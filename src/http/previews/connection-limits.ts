// How many requests and WebSockets previews may hold at once: of one sandbox, so that it keeps room for its execs (the agent
// serves 256 streams), and in all, where each sandbox has a share.
import { ServiceError } from '../../domain/errors.ts';
import { SharedSlots } from '../../domain/shared-slots.ts';

const MOST_OF_ONE = 128;
const MOST = 4096;
const RETRY_MS = 1000;

export class PreviewLimits {
  readonly #taken = new Map<string, number>();
  readonly #all: SharedSlots;

  constructor(most = MOST) {
    this.#all = new SharedSlots(most);
  }

  /**
   * Takes one; the answer gives it back, once. `evict` is called when it goes to another sandbox that has fewer. Throws
   * `resource_limit` when there is none.
   */
  take(sandbox_id: string, evict: () => void): () => void {
    const taken = this.#taken.get(sandbox_id) ?? 0;
    const give = taken < MOST_OF_ONE ? this.#all.take(sandbox_id, evict) : undefined;
    if (!give)
      throw new ServiceError('resource_limit', 'Too many connections to this preview are open.', {
        retryAfterMs: RETRY_MS,
      });
    this.#taken.set(sandbox_id, taken + 1);
    let isMine = true;
    return () => {
      if (isMine) this.#leave(sandbox_id);
      isMine = false;
      give();
    };
  }

  #leave(sandbox_id: string): void {
    const left = (this.#taken.get(sandbox_id) ?? 1) - 1;
    if (left > 0) this.#taken.set(sandbox_id, left);
    else this.#taken.delete(sandbox_id);
  }
}
