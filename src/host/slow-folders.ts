// Calls on folders that the operator configured, which may lie on a mount that hangs. Such a call cannot be ended and keeps one
// of Node's four threads for files: few may run at once, and callers wait only for a short time.
import { ServiceError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';

/** Two of four threads; files elsewhere keep the rest. */
const AT_ONCE = 2;
const PATIENCE_MS = 10_000;

/** Runs `work` in its turn. It must make its calls one after another. Rejects with `unavailable` when it is not done in time. */
export type SlowFolders = <T>(work: () => Promise<T>) => Promise<T>;

/** `atOnce` bounds the calls that run together; see AT_ONCE. */
export function slowFolders(clock: Clock, atOnce = AT_ONCE): SlowFolders {
  let running = 0;
  const waiting = new Set<() => void>();
  const next = () => {
    const [first] = waiting;
    if (running >= atOnce || first === undefined) return;
    waiting.delete(first);
    running++;
    first();
  };
  return (work) =>
    new Promise((resolve, reject) => {
      const start = () => {
        const over = () => {
          timer.cancel();
          running--;
          next();
        };
        work().finally(over).then(resolve, reject);
      };
      const timer = clock.after(PATIENCE_MS, () => {
        waiting.delete(start);
        reject(hangs());
      });
      waiting.add(start);
      next();
    });
}

function hangs(): ServiceError {
  return new ServiceError('unavailable', `A folder did not answer within ${PATIENCE_MS / 1000} s.`, {
    remedy: 'Check the mounts of the configured folders.',
  });
}
