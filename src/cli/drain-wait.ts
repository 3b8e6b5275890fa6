// Waits until a draining worker holds no sandboxes.
import type { Client } from '../client/client.ts';
import { formatDuration } from '../domain/duration.ts';
import { asServiceError, ServiceError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import { realClock } from '../host/clock.ts';
import type { Worker } from '../schema/worker.ts';
import { interruptible } from './interruption.ts';
import { line } from './print.ts';
import { stageLineOn } from './progress.ts';

const EVERY_MS = 1000;
/** A server that cannot be asked for so long is not waited for. */
const AWAY_MS = 60_000;
/** How many of the sandboxes that are left an error names. */
const NAMED = 5;

export interface DrainWait {
  client: Pick<Client, 'workers' | 'page'>;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  /** Undefined: as long as it takes. */
  timeoutMs: number | undefined;
  /** Called with each answer. */
  progress(worker: Worker): void;
}

/**
 * Resolves with the worker when it holds nothing. Rejects with `timeout`, which names what is left; with the error of a server
 * that does not answer for a minute; with the reason of `signal`.
 */
export async function drained(wait: DrainWait, worker_id: string, signal: AbortSignal): Promise<Worker> {
  const { clock, timeoutMs = Number.POSITIVE_INFINITY } = wait;
  const start = clock.monotonic();
  let last: { worker: Worker; at: number } | undefined;
  for (;;) {
    const answer = await wait.client.workers.get(worker_id, { signal }).catch((error: unknown) => {
      if (signal.aborted || !isAway(error) || clock.monotonic() - (last?.at ?? start) > AWAY_MS) throw error;
    });
    if (answer) {
      if (answer.active_sandboxes + prewarmedOn(answer) === 0) return answer;
      wait.progress(answer);
      last = { worker: answer, at: clock.monotonic() };
    }
    const leftMs = timeoutMs - (clock.monotonic() - start);
    if (leftMs <= 0) throw await stillThere(wait, worker_id, { timeoutMs, worker: last?.worker, signal });
    await clock.sleep(Math.min(EVERY_MS, leftMs), signal);
  }
}

/** They end with the drain. A server of an earlier version does not count them. */
const prewarmedOn = ({ prewarmed_sandboxes = 0 }: Partial<Worker>): number => prewarmed_sandboxes;

/** `2 sandboxes and 1 prewarmed sandbox`. */
function held(worker: Worker): string {
  const { active_sandboxes: active } = worker;
  const prewarmed = prewarmedOn(worker);
  const parts = [counted(active, 'sandbox'), counted(prewarmed, 'prewarmed sandbox')];
  if (prewarmed === 0) return parts[0] as string;
  return active === 0 ? (parts[1] as string) : parts.join(' and ');
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 'es'}`;

/** A server that restarts keeps the drain. */
function isAway(error: unknown): boolean {
  const { code } = asServiceError(error);
  return code === 'unavailable' || code === 'timeout';
}

async function stillThere(
  { client }: DrainWait,
  worker_id: string,
  { timeoutMs, worker, signal }: { timeoutMs: number; worker: Worker | undefined; signal: AbortSignal },
): Promise<ServiceError> {
  const page = await client.page({ worker_id, limit: NAMED }, { signal }).catch(() => undefined);
  const sandboxes = page?.sandboxes.map(({ id }) => id) ?? [];
  const counts = worker && {
    active_sandboxes: worker.active_sandboxes,
    prewarmed_sandboxes: prewarmedOn(worker),
  };
  return new ServiceError(
    'timeout',
    `Worker ${worker_id} still holds ${worker ? held(worker) : 'sandboxes'} after ${formatDuration(timeoutMs)}.`,
    {
      remedy: `Wait again, or end them: \`svc sandbox list --worker ${worker_id}\` shows all. The drain stays in force.`,
      details: { ...counts, sandboxes },
    },
  );
}

/** As `drained`, with a line of progress on the terminal. Undefined if Ctrl-C ended the wait. */
export async function waitOnTerminal(
  client: DrainWait['client'],
  worker_id: string,
  timeoutMs: number | undefined,
): Promise<Worker | undefined> {
  const clock = realClock();
  const shown = stageLineOn(process.stderr, () => clock.monotonic());
  const progress = (worker: Worker) => shown.show(line`Waiting for ${held(worker)} on ${worker_id}`);
  return interruptible<Worker | undefined>(
    (signal) => drained({ client, clock, timeoutMs, progress }, worker_id, signal),
    () => undefined,
  ).finally(() => shown.end());
}
