// The execs that a sandbox holds, whoever started them: list, attach, signal, resize. An attach is a view: its end,
// abort or loss leaves the command running, only kill() reaches it.

import { ERRNO } from './errno.ts';
import { isExit, readExit } from './exec-exit.ts';
import { execOutput } from './exec-output.ts';
import { noStdin, openStdin } from './exec-stdin.ts';
import { AgentFault } from './fault.ts';
import type { Exec, ExecExit, ExecRecord, KeptExec } from './io.ts';
import { collect } from './listing.ts';
import type { Requests } from './requests.ts';
import { signalName, signalNumber } from './signals.ts';
import { stamp } from './stamp.ts';
import type { AgentStream } from './stream.ts';
import { type WireReader, WireWriter } from './wire.ts';

const ATTACH_MS = 30_000;
const KILL_AFTER_MS = 2000;
const LIST_MS = 30_000;
const LIST_BOUNDS = { records: 4096, bytes: 16 * 1024 * 1024 };
const WORDS = {
  [ERRNO.ENOENT]: 'There is no such exec in the sandbox.',
  [ERRNO.ESRCH]: 'The command has ended already.',
};

/** All running execs and the ended ones that are still kept, in the agent's order. */
export async function listExecs(requests: Requests, signal?: AbortSignal): Promise<ExecRecord[]> {
  const plan = {
    args: () => new WireWriter(),
    channels: [0],
    decode: (reader: WireReader) => ({ count: reader.u32(), truncated: false }),
  };
  const stream = requests.open('execs', plan, signal);
  stream.within(LIST_MS, requests.clock, 'execs');
  return (await collect(requests, stream, { decode: readRecord, ...LIST_BOUNDS })).records;
}

/** The kept ones, with more of each. */
export async function keptExecs(requests: Requests, signal?: AbortSignal): Promise<KeptExec[]> {
  const plan = {
    args: () => new WireWriter().u8(1),
    channels: [0],
    decode: (reader: WireReader) => ({ count: reader.u32(), truncated: false }),
  };
  const stream = requests.open('execs', plan, signal);
  stream.within(LIST_MS, requests.clock, 'execs');
  return (await collect(requests, stream, { decode: readKept, ...LIST_BOUNDS })).records;
}

/** Follows a kept exec, with its input. Rejects with `not_found` when the agent does not know it. */
export async function resumeExec(
  requests: Requests,
  exec_id: string,
  signal?: AbortSignal,
): Promise<Exec & { truncated: boolean }> {
  const args = () => new WireWriter().str(exec_id);
  const plan = { args, channels: [0, 1, 2], decode: readExit, words: WORDS };
  const stream = requests.open('resume', plan, signal);
  requests.keepAlive(stream, 'resume');
  const truncated = await readTruncated(requests, stream);
  return { ...viewOf(requests, stream, exec_id), stdin: openStdin(stream), truncated };
}

/** Replays an exec's tail. Rejects with `not_found` when the agent does not know it. */
export async function attachExec(
  requests: Requests,
  target: { exec_id: string; follow: boolean },
  signal?: AbortSignal,
): Promise<Exec & { truncated: boolean }> {
  const { exec_id } = target;
  const args = () => new WireWriter().str(exec_id).u8(target.follow ? 1 : 0);
  const stream = requests.open(
    'attach',
    { args, channels: [0, 1, 2], decode: readExit, words: WORDS },
    signal,
  );
  requests.keepAlive(stream, 'attach');
  const truncated = await readTruncated(requests, stream);
  return { ...viewOf(requests, stream, exec_id), stdin: noStdin, truncated };
}

function viewOf(requests: Requests, stream: AgentStream<ExecExit>, exec_id: string): Omit<Exec, 'stdin'> {
  return {
    exec_id,
    started: Promise.resolve(),
    output: execOutput(requests, stream.incoming),
    exit: stream.result,
    kill: () => killExec(requests, exec_id),
    resize: (rows, cols) => resizeExec(requests, exec_id, { rows, cols }),
  };
}

/** Sends a signal, by name, to the exec's process group. */
export function signalExec(requests: Requests, exec_id: string, signal: string): Promise<void> {
  const args = () => new WireWriter().str(exec_id).u32(signalNumber(signal));
  return requests.call('signal', () => undefined, { args, words: WORDS });
}

/** `bad_request` when the exec has no terminal. */
export function resizeExec(
  requests: Requests,
  exec_id: string,
  size: { rows: number; cols: number },
): Promise<void> {
  const args = () => new WireWriter().str(exec_id).u16(size.rows).u16(size.cols);
  return requests.call('resize', () => undefined, { args, words: WORDS });
}

/** An attach carries one byte on channel 0 before anything else. */
async function readTruncated(requests: Requests, stream: AgentStream<ExecExit>): Promise<boolean> {
  const lift = stream.within(ATTACH_MS, requests.clock, 'attach');
  const piece = await stream.incoming.next();
  lift();
  if (!piece) await stream.result;
  if (piece?.channel === 0 && piece.data.length === 1) return piece.data[0] !== 0;
  throw requests.fault(new AgentFault('attach without its first byte'));
}

/** Its stream is not ours to cancel, so the two steps are made from here. A failure means that it has ended. */
function killExec(requests: Requests, exec_id: string): void {
  const send = (name: string) => signalExec(requests, exec_id, name).catch(() => undefined);
  void send('SIGTERM');
  requests.clock.after(KILL_AFTER_MS, () => void send('SIGKILL'));
}

function readKept(reader: WireReader): KeptExec {
  const record = readRecord(reader);
  return { ...record, pid: reader.u32(), hasInput: reader.u8() !== 0, note: reader.str() };
}

function readRecord(reader: WireReader): ExecRecord {
  const [exec_id, label, state, detached] = [reader.str(), reader.str(), reader.u8(), reader.u8() !== 0];
  const [exit_code, signal, started, ended] = [reader.i32(), reader.u32(), reader.u64(), reader.u64()];
  if (!isExit(exit_code, signal) || (state !== 1 && state !== 2)) throw new AgentFault('absurd exec record');
  return {
    exec_id,
    label,
    state: state === 1 ? 'running' : 'exited',
    detached,
    exit_code,
    started_at: stamp(started),
    ...(signal > 0 && { signal: signalName(signal) }),
    ...(state === 2 && { ended_at: stamp(ended) }),
  };
}
