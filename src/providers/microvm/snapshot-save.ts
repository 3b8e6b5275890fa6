// Making a snapshot: a guest is booted for it, saved when its agent answers, and ended. Its memory is the file from the
// start, so that saving writes nothing but the state of its devices.
import { chmod, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SandboxIo } from '../../agent/io.ts';
import { openSession } from '../../agent/session.ts';
import { ServiceError } from '../../domain/errors.ts';
import { abortable } from '../../domain/timeout.ts';
import { makeFolders } from '../../host/make-folders.ts';
import { openAgentSocket } from '../local/agent-socket.ts';
import { clear } from './destroy.ts';
import { runtimePaths, SNAPSHOT_RUN_PREFIX } from './folders.ts';
import { claimFolder, type Launched, launch, type Making, networkOf } from './launch.ts';
import { ready } from './monitor.ts';
import { Qmp } from './qmp.ts';
import { unwritable } from './record.ts';
import { guestSettings } from './settings.ts';
import { type Snapshot, type SnapshotFacts, snapshotFiles, snapshotKey, writeSnapshot } from './snapshot.ts';
import { saveState } from './snapshot-state.ts';
import type { MicrovmState } from './state.ts';

const MEBIBYTE = 1024 * 1024;
const SECRET_BYTES = 16;
const WARM_MS = 10_000;
/** As long as an id of ours (host/ids.ts), so that files with a name in them keep their length. */
const NAME = 'sb-'.padEnd(15, '0');
const FOLDER_MODE = 0o711;

interface SaveOrder {
  /** The parts of the guests that start from it; the spec's id and epoch mean nothing here. */
  making: Making;
  facts: SnapshotFacts;
  folder: string;
}

/** Saves a complete snapshot. Throws ServiceErrors or the signal's reason; nothing is left then. */
export async function saveSnapshot(
  state: MicrovmState,
  order: SaveOrder,
  signal: AbortSignal,
): Promise<Snapshot> {
  const making = snapshotMaking(state, order);
  const { name } = making;
  await clear(state, name, signal);
  await rm(order.folder, { recursive: true, force: true });
  await enoughSpace(state, order);
  await claimFolder(making.paths.folder);
  try {
    return await save(state, { ...order, making }, signal);
  } catch (error) {
    await rm(order.folder, { recursive: true, force: true });
    throw error;
  } finally {
    await clear(state, name).catch((error: unknown) => {
      state.logger.warn(
        { err: error, runtime: name },
        'Could not clean up after saving a VM; retrying on the next list.',
      );
    });
  }
}

function snapshotMaking(state: MicrovmState, { making, facts }: SaveOrder): Making {
  const id = `${SNAPSHOT_RUN_PREFIX}${snapshotKey(facts).slice(0, 16)}`;
  const name = `${id}.0`;
  return {
    ...making,
    name,
    paths: runtimePaths(state.folders, name),
    spec: { ...making.spec, id, epoch: 0 },
  };
}

/** A disk that is full under a guest's memory kills its monitor. */
async function enoughSpace(state: MicrovmState, { making }: SaveOrder): Promise<void> {
  const { freeBytes } = await state.host.fileSystem(state.folders.snapshots);
  if (freeBytes < making.shape.memory_mb * MEBIBYTE)
    throw unwritable(Object.assign(new Error('not enough disk space for a snapshot'), { code: 'ENOSPC' }));
}

async function save(state: MicrovmState, order: SaveOrder, signal: AbortSignal): Promise<Snapshot> {
  const { making, facts, folder } = order;
  const files = snapshotFiles(folder, facts);
  await makeMemory(folder, files.memory, making.shape.memory_mb * MEBIBYTE);
  const secret = Buffer.from(state.random.bytes(SECRET_BYTES).map((byte) => byte || 1));
  const launched = await launch(
    state,
    making,
    inputsOf(state, making, { secret, memory: files.memory }),
    signal,
  );
  try {
    await ready(state.clock, launched, signal);
    await waitForAgent(state, { making, secret }, signal);
    await takeState(state, { launched, making, to: files.state }, signal);
  } finally {
    launched.process.release();
  }
  await abortable(launched.process.ended, signal);
  if (files.overlay) await rename(making.paths.overlay, files.overlay);
  for (const file of [files.state, files.overlay]) if (file) await chmod(file, 0o400);
  // QEMU 7.2 opens even what it looks at privately for writing; root may.
  await chmod(files.memory, state.host.uid === 0 ? 0o400 : 0o600);
  const created_at = new Date(state.clock.now()).toISOString();
  return writeSnapshot(folder, { facts, secret: secret.toString('hex'), created_at });
}

function inputsOf(
  state: MicrovmState,
  { spec, shape, env }: Making,
  { secret, memory }: { secret: Buffer; memory: string },
) {
  return {
    settings: guestSettings({
      spec: { ...spec, id: NAME },
      made: shape,
      network: networkOf(state, spec),
      secret,
      env,
    }),
    memory: { kind: 'file', path: memory, isShared: true } as const,
    overlay: (path: string) => state.overlays.make(path),
  };
}

async function makeMemory(folder: string, path: string, size: number): Promise<void> {
  try {
    await makeFolders(folder, 0o700);
    const file = await open(path, 'wx', 0o600);
    await file.truncate(size).finally(() => file.close());
  } catch (cause) {
    throw unwritable(cause);
  }
}

/** The port opens a moment before the agent listens. */
async function waitForAgent(
  { clock, random, logger }: MicrovmState,
  { making, secret }: { making: Making; secret: Buffer },
  signal: AbortSignal,
): Promise<void> {
  const stream = await openAgentSocket(making.paths.sockets.agent, signal);
  const io = await openSession({ stream, secret, clock, random, logger }, signal);
  try {
    await io.ping(signal);
    await warmUp(io, signal);
  } finally {
    io.close();
  }
}

/**
 * Runs a shell, so that the guest's memory holds what every command needs, and syncs: otherwise each clone would write the same
 * pages. An image without a shell, or one that does not end, is not an error.
 */
async function warmUp(io: SandboxIo, signal: AbortSignal): Promise<void> {
  const argv = ['sh', '-c', 'echo; sync'];
  const exec = io.exec({ exec_id: 'warm', argv, label: 'warm', env: {}, timeoutMs: WARM_MS }, signal);
  for await (const _ of exec.output);
  await exec.exit;
}

/** The monitor must reach the socket as the user it has become. */
async function takeState(
  { clock }: MicrovmState,
  { launched, making, to }: { launched: Launched; making: Making; to: string },
  signal: AbortSignal,
): Promise<void> {
  const { plan } = launched;
  const { folder } = making.paths;
  if (plan.user) await chmod(folder, FOLDER_MODE);
  const qmp = await Qmp.open(clock, plan.sockets.monitor, { signal });
  try {
    await saveState({ qmp, clock, socket: join(folder, 'state.sock'), user: plan.user, to }, signal);
    await qmp.execute('quit', undefined, { signal }).catch((error: unknown) => {
      if (!(error instanceof ServiceError && error.code === 'unavailable')) throw error;
    });
  } finally {
    qmp.close();
  }
}
