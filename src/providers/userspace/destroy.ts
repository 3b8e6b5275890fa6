// Ending a runtime, from any half-made state: processes first, then what only they could still use, the run folder last,
// so that whatever stops this half-way, the next call finds the runtime again.

import { connect } from 'node:net';
import { join } from 'node:path';
import { cgroupName, removeCgroups } from '../local/cgroup-plan.ts';
import { removeRunFolder, runFolder } from '../local/instance-folders.ts';
import { isAlive, kill, killProcess, type ProcessIdentity, pollUntil } from '../local/processes.ts';
import { releaseSlots, UID_BASE } from '../local/uid-slots.ts';
import { releaseImage } from './image-use.ts';
import { markedProcesses, processMarker } from './process-marker.ts';
import { hasFolder, type RuntimeRecord, readRecord } from './record.ts';
import type { UserspaceState } from './state.ts';
import { removeLoader } from './traced-loader.ts';
import { removeWorkspace } from './workspace.ts';

/** How long a runner may take to end by itself. */
const RUNNER_PATIENCE_MS = 1000;

interface Remains {
  name: string;
  record: RuntimeRecord | undefined;
}

/** Resolves when nothing of the runtime is left; also when there was nothing. Throws `unavailable` when it would not die. */
export async function clear(state: UserspaceState, name: string, signal?: AbortSignal): Promise<void> {
  const folder = runFolder(state.folders, name);
  const record = await readRecord(folder);
  await endProcesses(state, { name, record }, signal);
  await endStrays(state, { name, record }, signal);
  const cgroups = {
    own: cgroupName(state, name),
    host: state.prepared()?.cgroups,
    recorded: record?.cgroups,
  };
  await removeCgroups(state.clock, cgroups, signal);
  if (markIn(state, { name, record }) !== undefined) await removeLoader(state, name, record);
  await removeWorkspace(state, name, signal);
  await releaseImage(state, name, record);
  await releaseSlots(state, name, record?.uid_slot);
  await removeRunFolder(folder);
}

/** Whether the runtime's first process is alive: same boot, same number, same start. A traced sandbox also needs its tracer. */
export async function isRunning(state: UserspaceState, record: RuntimeRecord): Promise<boolean> {
  if (record.boot_id !== state.host.bootId) return false;
  if (record.mark !== undefined && !(await isAlive({ pid: record.runner_pid, start: record.runner_start })))
    return false;
  return isAlive({ pid: record.pid, start: record.pid_start });
}

async function endProcesses(
  state: UserspaceState,
  { name, record }: Remains,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!record) return endUnrecorded(state, name, signal);
  if (record.boot_id !== state.host.bootId) return;
  const first = { pid: record.pid, start: record.pid_start };
  const others = othersOf(record);
  if (record.mark !== undefined) await askToEnd(state, first, signal);
  // Process 1 takes its namespace with it; the others end by themselves after it, unless they are stopped: a stopped tracer also
  // keeps its traced processes from ending.
  await killProcess(first);
  const stopped = state.clock.monotonic() + RUNNER_PATIENCE_MS;
  const hasEnded = async () => {
    if (state.clock.monotonic() > stopped) await Promise.all(others.map((each) => killProcess(each)));
    const alive = await Promise.all([first, ...others].map(isAlive));
    return !alive.includes(true);
  };
  await pollUntil(state.clock, hasEnded, signal);
}

/** The runner, and what connects for the sandbox. */
function othersOf({
  runner_pid,
  runner_start,
  network_pid,
  network_start,
}: RuntimeRecord): ProcessIdentity[] {
  const runner = { pid: runner_pid, start: runner_start };
  if (network_pid === undefined || network_start === undefined) return [runner];
  return [runner, { pid: network_pid, start: network_start }];
}

/** Under a tracer the agent ends its descendants, and then itself, when it gets the chance. */
async function askToEnd(
  state: UserspaceState,
  first: ProcessIdentity,
  signal: AbortSignal | undefined,
): Promise<void> {
  await killProcess(first, 'SIGTERM');
  const late = state.clock.monotonic() + RUNNER_PATIENCE_MS;
  await pollUntil(state.clock, async () => state.clock.monotonic() > late || !(await isAlive(first)), signal);
}

/** Kills processes that carry the sandbox's marker or uid until none is left, where no namespace ends them. */
async function endStrays(
  state: UserspaceState,
  { name, record }: Remains,
  signal: AbortSignal | undefined,
): Promise<void> {
  const mark = markIn(state, { name, record });
  if (mark === undefined || (record && record.boot_id !== state.host.bootId)) return;
  const uid = record?.uid_slot === undefined ? undefined : UID_BASE + record.uid_slot;
  const none = async () => {
    const pids = await markedProcesses(mark, uid);
    pids.forEach(kill);
    return pids.length === 0;
  };
  await pollUntil(state.clock, none, signal);
}

/** Undefined: a namespace ends all that runs in it. */
function markIn(state: UserspaceState, { name, record }: Remains): string | undefined {
  return record?.mark ?? (state.config.runner === 'proot' ? processMarker(state, name) : undefined);
}

/**
 * The launcher has not released a runtime without a record: its init ends by itself. Its socket refuses connections once no
 * process holds it.
 */
async function endUnrecorded(
  state: UserspaceState,
  name: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const folder = runFolder(state.folders, name);
  // A tracer that was killed early leaves a stopped process that ends by nothing else.
  await endStrays(state, { name, record: undefined }, signal);
  if (await hasFolder(folder))
    await pollUntil(state.clock, () => isRefused(join(folder, 'agent.sock')), signal);
}

/** Errors of connecting to a socket that no process holds; any other error proves nothing. */
const NOBODY = new Set(['ECONNREFUSED', 'ENOENT']);

function isRefused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(NOBODY.has(`${code}`)));
  });
}
