// One monitor from its start to the moment its guest is ready. What it or its guest says on the way is a cause: logged,
// never sent to a caller.
import { ServiceError } from '../../domain/errors.ts';
import type { Detached } from '../../host/host.ts';
import type { Machinery } from './machinery.ts';
import type { MonitorPlan } from './monitor-plan.ts';
import { AGENT_DEVICE, CONSOLE_BYTES, CONSOLE_ID, qemuArguments } from './qemu-arguments.ts';
import { Qmp } from './qmp.ts';
import type { MicrovmState } from './state.ts';

const CONNECT_PAUSE_MS = 5;
const LAST_WORDS = 4000;

export interface MonitorOrder {
  monitor: Machinery['monitor'];
  plan: MonitorPlan;
}

/** Resolves once the process runs; everything else is `ready`'s to wait for. `stdin` is what it finds as descriptor 0. */
export function startMonitor(
  { host }: MicrovmState,
  { monitor, plan }: MonitorOrder,
  stdin?: number,
): Promise<Detached> {
  return host.detach(monitor.path, qemuArguments(plan), stdin);
}

/**
 * Resolves when the guest's agent has opened its port. Throws `provider_error` when the guest or its monitor ended
 * instead, the signal's reason on abort. The process is left as it is.
 */
export async function ready(
  { clock }: MicrovmState,
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

/** Aborts with `signal`, and with what the caller is to hear when the process ends. */
export function untilEnded(process: Detached, signal: AbortSignal): AbortSignal {
  const over = new AbortController();
  void process.ended.then(() => over.abort(ended(process)));
  return AbortSignal.any([signal, over.signal]);
}

/** Its socket appears a little after the process. Throws as Qmp.open does, but waits for who will listen. */
export async function openMonitor(
  clock: MicrovmState['clock'],
  { sockets }: MonitorPlan,
  signal: AbortSignal,
): Promise<Qmp> {
  for (;;) {
    try {
      return await Qmp.open(clock, sockets.qmp, { signal });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError && error.code === 'unavailable')) throw error;
      await clock.sleep(CONNECT_PAUSE_MS, signal);
    }
  }
}

/** The event comes when the port is opened; a port that is open already is asked for. */
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
  const what = await Promise.race([news, qmp.ended, aborted(signal)]);
  signal.throwIfAborted();
  if (what === 'reset') throw notStarted(await lastWords(qmp));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Of the guest's console. */
async function lastWords(qmp: Qmp): Promise<string> {
  const order = { device: CONSOLE_ID, size: CONSOLE_BYTES, format: 'base64' };
  const text = await qmp.execute('ringbuf-read', order).catch(() => '');
  return Buffer.from(String(text), 'base64').toString('utf8').slice(-LAST_WORDS);
}

/** What a guest whose monitor is gone is to a caller. */
export function ended(process: Detached): ServiceError {
  return notStarted(process.errors() || 'the monitor ended');
}

function notStarted(words: string): ServiceError {
  return new ServiceError('provider_error', 'The virtual machine could not be started.', {
    cause: new Error(words),
    remedy: 'svc provider get microvm says what this host lacks; the log has the last words of the guest.',
  });
}
