// Everything that can be done in a sandbox, the same for the entire sandbox and for a tenant.
import { connectPort } from './connect.ts';
import { consoleLines } from './console.ts';
import { startExec } from './exec.ts';
import { attachExec, listExecs, signalExec } from './execs.ts';
import { sandboxFiles } from './files.ts';
import type { SandboxIo } from './io.ts';
import { type Requests, readPong } from './requests.ts';

const PING_MS = 2000;

export function sandboxIo(requests: Requests): Omit<SandboxIo, 'close' | 'closed' | 'as'> {
  return {
    keepsKeys: true,
    exec: (spec, signal) => startExec(requests, spec, signal),
    execs: {
      list: (signal) => listExecs(requests, signal),
      attach: (exec_id, follow, signal) => attachExec(requests, { exec_id, follow }, signal),
      signal: (exec_id, name) => signalExec(requests, exec_id, name),
    },
    files: sandboxFiles(requests),
    connect: (port, signal) => connectPort(requests, port, signal),
    console: (options, signal) => consoleLines(requests, options, signal),
    ping: (signal) => requests.call('ping', readPong, { deadlineMs: PING_MS, signal }),
  };
}
