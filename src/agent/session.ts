// A sandbox's agent as SandboxIo: opens the wire on one duplex byte stream and puts the parts together.
import type { Logger } from '../domain/ports.ts';
import { connectPort } from './connect.ts';
import { consoleLines } from './console.ts';
import { Conversation } from './conversation.ts';
import { startExec } from './exec.ts';
import { attachExec, listExecs, signalExec } from './execs.ts';
import { sandboxFiles } from './files.ts';
import type { SandboxIo } from './io.ts';
import { type OpeningDeps, openWire } from './opening.ts';
import type { WireReader } from './wire.ts';

const PING_MS = 2000;

export interface SessionDeps extends OpeningDeps {
  logger: Logger;
}

/**
 * Opens a session; the agent ends the one before it. The stream belongs to the session from now on and is destroyed
 * with it. Rejects with `unavailable` when the agent does not answer (at most 6 s), or with the signal's reason;
 * `signal` has no meaning after that.
 */
export async function openSession(deps: SessionDeps, signal?: AbortSignal): Promise<SandboxIo> {
  const { tag, build, rest } = await openWire(deps, signal);
  deps.logger.debug({ build }, 'agent session open');
  const talk = new Conversation(deps, tag, rest);
  return {
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
    close: () => talk.close(),
    closed: talk.closed,
  };
}

function readPong(reader: WireReader): void {
  reader.u64();
  reader.u32();
}
