// All that can be done over a talk, for the whole sandbox and for a tenant alike.
import { connectPort } from './connect.ts';
import { consoleLines } from './console.ts';
import { startExec } from './exec.ts';
import { attachExec, listExecs, signalExec } from './execs.ts';
import { sandboxFiles } from './files.ts';
import type { SandboxIo } from './io.ts';
import { readPong } from './pong.ts';
import type { Talk } from './talk.ts';

const PING_MS = 2000;

export function sandboxInside(talk: Talk): Omit<SandboxIo, 'close' | 'closed' | 'as'> {
  return {
    keepsKeys: true,
    exec: (spec, signal) => startExec(talk, spec, signal),
    execs: {
      list: (signal) => listExecs(talk, signal),
      attach: (exec_id, follow, signal) => attachExec(talk, { exec_id, follow }, signal),
      signal: (exec_id, name) => signalExec(talk, exec_id, name),
    },
    files: sandboxFiles(talk),
    connect: (port, signal) => connectPort(talk, port, signal),
    console: (options, signal) => consoleLines(talk, options, signal),
    ping: (signal) => talk.call('ping', readPong, { deadlineMs: PING_MS, signal }),
  };
}
