// Runs one QEMU from its start to the moment its guest is ready. Its output and the guest's become a cause: logged, never sent
// to a caller.
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { abortable, orAfter } from '../../domain/timeout.ts';
import type { Detached } from '../../host/host.ts';
import type { MonitorPlan } from './monitor-kind.ts';
import { AGENT_DEVICE, CONSOLE_BYTES, CONSOLE_ID } from './qemu-arguments.ts';
import { Qmp } from './qmp.ts';

const CONNECT_PAUSE_MS = 2;
const LAST_WORDS = 4000;
const LAST_WORDS_MS = 100;

/**
 * Resolves when the guest's agent has opened its port. Throws `provider_error` when the guest or its monitor ended
 * instead, the signal's reason on abort. The process is left as it is.
 */
export async function ready(
  clock: Clock,
  { process, plan }: { process: Detached; plan: MonitorPlan },
  signal: AbortSignal,
): Promise<void> {
  const either = untilEnded(process, signal);
  const qmp = await openMonitor(clock, plan, either);
  try {
    await portOpened(qmp, either);
    // Until now a guest that resets stays, stopped, so that its last words can be read.
    await qmp.execute('set-action', { shutdown: 'poweroff' }, { signal: either });
  } finally {
    qmp.close();
  }
}

/** Aborts with `signal`, and with the caller's error when the process ends. */
export function untilEnded(process: Detached, signal: AbortSignal): AbortSignal {
  const over = new AbortController();
  void process.ended.then(() => over.abort(ended(process)));
  return AbortSignal.any([signal, over.signal]);
}

/** The socket appears a little after the process. Throws as Qmp.open does, but waits for the listener. */
export function openMonitor(clock: Clock, { sockets }: MonitorPlan, signal: AbortSignal): Promise<Qmp> {
  return untilThere(clock, signal, () => Qmp.open(clock, sockets.monitor, { signal }));
}

/** Retries while `work` rejects with `unavailable`: nothing reports the moment when the listener is ready. */
export async function untilThere<T>(clock: Clock, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError && error.code === 'unavailable')) throw error;
      await clock.sleep(CONNECT_PAUSE_MS, signal);
    }
  }
}

/** The event comes when the port opens; for a port that is already open, a query finds out. */
async function portOpened(qmp: Qmp, signal: AbortSignal): Promise<void> {
  const news = new Promise<'open' | 'reset'>((resolve) => {
    qmp.listen((name, fields) => {
      const data = fields as { id?: unknown; open?: unknown };
      if (name === 'VSERPORT_CHANGE' && data.id === AGENT_DEVICE && data.open === true) resolve('open');
      if (name === 'SHUTDOWN' || name === 'GUEST_PANICKED') resolve('reset');
    });
  });
  const devices = (await qmp.execute('query-chardev', undefined, { signal })) as {
    label: string;
    'frontend-open': boolean;
  }[];
  if (devices.some((each) => each.label === AGENT_DEVICE && each['frontend-open'])) return;
  const what = await abortable(Promise.race([news, qmp.ended]), signal);
  signal.throwIfAborted();
  if (what === 'reset') throw notStarted(await lastWords(qmp));
}

async function lastWords(qmp: Qmp): Promise<string> {
  const order = { device: CONSOLE_ID, size: CONSOLE_BYTES, format: 'base64' };
  const text = await qmp.execute('ringbuf-read', order).catch(() => '');
  return Buffer.from(String(text), 'base64').toString('utf8').slice(-LAST_WORDS);
}

/** The error of a failed call to a monitor: a connection breaks a moment before the monitor's last output arrives. */
export async function reasonOf(
  clock: Clock,
  { process, error }: { process: Detached; error: unknown },
): Promise<unknown> {
  const died = process.ended.then(() => ended(process));
  return orAfter(clock, LAST_WORDS_MS, died, () => error);
}

function ended(process: Detached): ServiceError {
  return notStarted(process.errors() || 'the monitor ended');
}

/** `words` are for the log. */
export function notStarted(words: string): ServiceError {
  return new ServiceError('provider_error', 'Could not start the virtual machine.', {
    cause: new Error(words),
    remedy:
      'Run svc provider get microvm to see what this host lacks. The log holds the last console output.',
  });
}
