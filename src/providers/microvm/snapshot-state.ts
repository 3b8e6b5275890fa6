// Saves the state of a stopped guest's processor and devices to a file. It does not include memory, which is already a file.
// (QEMU docs/devel/migration, x-ignore-shared)
import { chmod, chown, open, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Qmp } from './qmp.ts';

/** A hundred times what it is. */
const MAX_BYTES = 32 * 1024 * 1024;
const LOOK_MS = 5;

interface StateOrder {
  qmp: Qmp;
  clock: Clock;
  /** The socket to which the monitor sends it; created for this and removed. */
  socket: string;
  /** The monitor's user; undefined: this process's own. */
  user: { uid: number; gid: number } | undefined;
  /** The file; must not exist. */
  to: string;
}

/**
 * Writes the guest's state, which stops the guest for good. Do not stop it first: a guest that was stopped resumes stopped.
 * Throws `provider_error`, MonitorRefusal, or the signal's reason.
 */
export async function saveState(order: StateOrder, signal: AbortSignal): Promise<void> {
  const { qmp, socket, to } = order;
  await withoutMemory(qmp, signal);
  const { server, received } = await listening(order, signal);
  try {
    await qmp.execute('migrate', { uri: `unix:${socket}` }, { signal });
    const [size] = await Promise.all([received, completed(order, signal)]);
    if (size === 0) throw failed('an empty state');
  } catch (error) {
    await rm(to, { force: true });
    throw error;
  } finally {
    server.close();
    await rm(socket, { force: true });
  }
}

/** Leaves memory out of the state, on the side that saves and on the side that restores. */
export async function withoutMemory(qmp: Qmp, signal: AbortSignal): Promise<void> {
  const capabilities = [{ capability: 'x-ignore-shared', state: true }];
  await qmp.execute('migrate-set-capabilities', { capabilities }, { signal });
}

async function listening(
  { socket: path, user, to }: StateOrder,
  signal: AbortSignal,
): Promise<{ server: Server; received: Promise<number> }> {
  const server = createServer();
  const received = new Promise<number>((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    server.once('connection', (connection) => writeAll(connection, to).then(resolve, reject));
  });
  received.catch(() => undefined);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o600);
  if (user) await chown(path, user.uid, user.gid);
  return { server, received };
}

/** The first connection is the monitor's: nobody else may make one. */
async function writeAll(connection: Socket, to: string): Promise<number> {
  const file = await open(to, 'wx', 0o600);
  let size = 0;
  try {
    for await (const chunk of connection as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_BYTES) throw failed('a state without an end');
      await file.write(chunk);
    }
    return size;
  } finally {
    connection.destroy();
    await file.close();
  }
}

async function completed({ qmp, clock }: StateOrder, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { status } = (await qmp.execute('query-migrate', undefined, { signal })) as { status?: unknown };
    if (status === 'completed') return;
    if (status === 'failed' || status === 'cancelled') throw failed(`the monitor says ${status}`);
    await clock.sleep(LOOK_MS, signal);
  }
}

function failed(words: string): ServiceError {
  return new ServiceError('provider_error', 'Could not save a virtual machine.', {
    cause: new Error(words),
    remedy: 'Check the free space below providers.microvm.data_dir.',
  });
}
