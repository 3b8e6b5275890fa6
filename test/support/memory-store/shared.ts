// One memory store for several control planes. Each has a line of its own to it: calls arrive late, their answers are lost
// after the store did what they ask, and for some time nobody answers at all.
import { ServiceError } from '../../../src/domain/errors.ts';
import type { Clock } from '../../../src/domain/ports.ts';
import type { Store } from '../../../src/store/store.ts';

/**
 * What becomes of one call. `lost`: the store does it, and the answer is an error. `late`: the answer is an error, and the
 * store does it some time after. `refused`: nothing is done.
 */
export type StoreFate = 'pass' | 'lost' | 'late' | 'refused';

export interface StoreLine {
  clock: Clock;
  /** The fate of the next call, and how long it takes to arrive, in ms. */
  fate(): { kind: StoreFate; ms: number };
  /** Resolves when the caller may go on: a frozen one waits, a dead one waits forever. */
  turn(): Promise<void>;
}

/** As long as the database lets one statement run. */
const LATEST_MS = 5000;
const POLL_MS = 1000;

/** The store as a control plane at the other end of `line` sees it. */
export function storeOver(store: Store, line: StoreLine): Store {
  const parts = Object.entries(store).map(([name, part]: [string, unknown]) => {
    if (typeof part === 'object' && part !== null && name !== 'instance') return [name, partOver(part, line)];
    return [name, name === 'ping' ? methodOver(part as Method, line) : part];
  });
  return { ...(Object.fromEntries(parts) as unknown as Store), signals: signalsOver(store.signals, line) };
}

/** Signals may be lost, so listeners are also woken each second. A frozen process is woken when it is thawed. */
function signalsOver(signals: Store['signals'], line: StoreLine): Store['signals'] {
  const listeners = new Set<(subject?: string) => void>();
  const poll = async () => {
    await line.turn();
    for (const listener of listeners) listener();
    if (listeners.size > 0) line.clock.after(POLL_MS, () => void poll());
  };
  return {
    send: (...signal) => {
      const { kind, ms } = line.fate();
      if (kind === 'pass') line.clock.after(ms, () => void line.turn().then(() => signals.send(...signal)));
    },
    on: (kind, listener) => {
      if (listeners.size === 0) line.clock.after(POLL_MS, () => void poll());
      listeners.add(listener);
      const stop = signals.on(kind, (subject) => void line.turn().then(() => listener(subject)));
      return () => {
        listeners.delete(listener);
        stop();
      };
    },
  };
}

type Method = (...args: unknown[]) => Promise<unknown>;

function partOver(part: object, line: StoreLine): object {
  const over = (value: unknown) => (typeof value === 'function' ? methodOver(value as Method, line) : value);
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, over(value)]));
}

function methodOver(method: Method, line: StoreLine): Method {
  return async (...args) => {
    await line.turn();
    const { kind, ms } = line.fate();
    if (kind === 'late') line.clock.after(ms % LATEST_MS, () => void method(...args).catch(() => undefined));
    else if (ms > 0) await line.clock.sleep(ms);
    // What has been sent arrives, also when its sender froze or died on the way.
    const settled = kind === 'pass' || kind === 'lost' ? await settle(method(...args)) : undefined;
    await line.turn();
    if (kind !== 'pass' || settled === undefined) throw unknownOutcome();
    if ('error' in settled) throw settled.error;
    return settled.value;
  };
}

type Settled = { value: unknown } | { error: unknown };

const settle = (promise: Promise<unknown>): Promise<Settled> =>
  promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );

const unknownOutcome = () =>
  new ServiceError('unavailable', 'The database did not answer.', { retryAfterMs: 1000 });
