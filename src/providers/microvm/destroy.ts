// Ending a runtime, from any half-made state: the monitor first, then what only it could still use, the run folder last,
// so that whatever stops this half-way, the next call finds the runtime again.
import { readFile, rm } from 'node:fs/promises';
import { cgroupName, removeCgroups } from '../local/cgroup-plan.ts';
import { removeRunFolder } from '../local/instance-folders.ts';
import { ifPresent } from '../local/presence.ts';
import {
  allProcesses,
  commandWords,
  isAlive,
  killProcess,
  type ProcessIdentity,
  parseStat,
  pollUntil,
} from '../local/processes.ts';
import { releaseSlots } from '../local/uid-slots.ts';
import { type RuntimePaths, runtimePaths } from './folders.ts';
import { releaseImage } from './image-use.ts';
import { type RuntimeRecord, readRecord } from './record.ts';
import type { MicrovmState } from './state.ts';

/** Resolves when nothing of the runtime is left; also when there was nothing. Throws `unavailable` when it would not die. */
export async function clear(state: MicrovmState, name: string, signal?: AbortSignal): Promise<void> {
  const paths = runtimePaths(state.folders, name);
  const record = await readRecord(paths.folder);
  await endMonitor(state, { paths, record }, signal);
  const cgroups = { own: cgroupName(state, name), host: await state.cgroups(), recorded: record?.cgroups };
  await removeCgroups(state.clock, cgroups, signal);
  await state.slowly(() => rm(paths.overlay, { force: true }));
  await releaseImage(state, name);
  await releaseSlots(state, name, record?.uid_slot);
  await removeRunFolder(paths.folder);
}

/** Whether its monitor lives: same boot, same number, same start. */
export async function isRunning(state: MicrovmState, record: RuntimeRecord): Promise<boolean> {
  const mark = markOf(record);
  return mark !== undefined && record.boot_id === state.host.bootId && isAlive(mark);
}

function markOf({ pid, pid_start }: RuntimeRecord): ProcessIdentity | undefined {
  return pid === undefined || pid_start === undefined ? undefined : { pid, start: pid_start };
}

/** The start of a process that was just made; undefined when it has ended already. Throws as isAlive. */
export async function startOf(pid: number): Promise<number | undefined> {
  const text = await ifPresent(readFile(`/proc/${pid}/stat`, 'utf8'));
  return text === undefined ? undefined : parseStat(text)?.start;
}

async function endMonitor(
  state: MicrovmState,
  { paths, record }: { paths: RuntimePaths; record: RuntimeRecord | undefined },
  signal: AbortSignal | undefined,
): Promise<void> {
  if (record && record.boot_id !== state.host.bootId) return;
  const known = record && markOf(record);
  const marks = known ? [known] : await unrecorded(paths);
  for (const mark of marks) await killProcess(mark);
  await pollUntil(state.clock, async () => (await living(marks)) === 0, signal);
}

async function living(marks: readonly ProcessIdentity[]): Promise<number> {
  return (await Promise.all(marks.map(isAlive))).filter(Boolean).length;
}

/** The server was killed between the start of a monitor and its record: the monitor's own arguments name the folder. */
async function unrecorded({ pidfile, sockets }: RuntimePaths): Promise<ProcessIdentity[]> {
  const found: ProcessIdentity[] = [];
  for (const pid of await allProcesses()) {
    const words = await commandWords(pid);
    const isOurs = words.includes(pidfile) || words.includes(sockets.monitor);
    const start = isOurs ? await startOf(pid) : undefined;
    if (start !== undefined) found.push({ pid, start });
  }
  return found;
}
