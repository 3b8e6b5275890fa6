// Everything that can be done in a sandbox, the same for the entire sandbox and for a tenant.
import { connectPort } from './connect.ts';
import { consoleLines } from './console.ts';
import { startExec } from './exec.ts';
import { attachExec, keptExecs, listExecs, resumeExec, signalExec } from './execs.ts';
import { sandboxFiles } from './files.ts';
import type { SandboxIo } from './io.ts';
import { CAPABILITY, NO_END } from './protocol.ts';
import { type Requests, readPong } from './requests.ts';
import { WireWriter } from './wire.ts';

const PING_MS = 2000;
const DEADLINE_MS = 3000;

/** `capabilities`: what the agent announced. */
export function sandboxIo(
  requests: Requests,
  capabilities: number,
): Omit<SandboxIo, 'close' | 'closed' | 'as' | 'asAccount'> {
  const keeps = (capabilities & CAPABILITY.keep) !== 0;
  const keepsDeadlines = (capabilities & CAPABILITY.deadlines) !== 0;
  return {
    keepsKeys: true,
    ...(keepsDeadlines && { setDeadline: (leftMs, signal) => setDeadline(requests, leftMs, signal) }),
    exec: (spec, signal) => startExec(requests, spec, signal),
    execs: {
      list: (signal) => listExecs(requests, signal),
      attach: (exec_id, follow, signal) => attachExec(requests, { exec_id, follow }, signal),
      ...(keeps && {
        kept: (signal) => keptExecs(requests, signal),
        resume: (exec_id, signal) => resumeExec(requests, exec_id, signal),
      }),
      signal: (exec_id, name) => signalExec(requests, exec_id, name),
    },
    files: sandboxFiles(requests, capabilities),
    connect: (port, signal) => connectPort(requests, port, signal),
    console: (options, signal) => consoleLines(requests, options, signal),
    ping: (signal) => requests.call('ping', readPong, { deadlineMs: PING_MS, signal }),
  };
}

function setDeadline(requests: Requests, leftMs: number | undefined, signal?: AbortSignal): Promise<void> {
  const left = leftMs === undefined ? NO_END : BigInt(Math.max(0, Math.ceil(leftMs)));
  const args = () => new WireWriter().u64(left);
  return requests.call('deadline', () => undefined, { args, deadlineMs: DEADLINE_MS, signal });
}
