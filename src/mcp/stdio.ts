// MCP over standard input and output: one session until the host closes the input, or a signal ends the process.
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Client } from '../client/client.ts';
import type { Clock } from '../domain/ports.ts';
import { orAfter } from '../domain/timeout.ts';
import type { HostChecks } from './host-tools.ts';
import type { Profile } from './profiles.ts';
import { StdioSession } from './session.ts';
import { toolServer } from './tool-server.ts';

export interface StdioDeps {
  client: Client;
  profile: Profile;
  version: string;
  clock: Pick<Clock, 'after'>;
  /** Names the session in the labels of its sandboxes. */
  sessionId: string;
  /** Leaves the sandboxes of the session until they expire. */
  keep: boolean;
  /** For the profile `operate`. */
  checks: HostChecks;
  /** Ends the session. */
  stop: AbortSignal;
  /** Reports a fault. Standard output belongs to the protocol. */
  report(message: string): void;
}

/** Bytes of a message at most: a file to write, in JSON. */
const MOST_BYTES = 8 * 1024 * 1024;
const END_MS = 10_000;

/** Resolves when the session has ended and its sandboxes are destroyed, for which it waits 10 s at most. */
export async function serveOnStdio({ stop, report, ...deps }: StdioDeps): Promise<void> {
  const { client, clock } = deps;
  const session = new StdioSession(`stdio-${deps.sessionId}`, deps.keep);
  const transport = new StdioServerTransport(process.stdin, process.stdout, { maxBufferSize: MOST_BYTES });
  const onFault = ({ message, cause }: Error) => report(`${message} ${String(cause ?? '')}`.trim());
  const factory = () => toolServer({ ...deps, session, onFault });
  const handle = serveStdio(factory, { transport, onerror: onFault });
  await closed(transport, stop);
  await handle.close();
  process.stdin.destroy();
  await orAfter(clock, END_MS, session.end(client), () => {
    throw new Error('too late');
  }).catch(() => report('Could not destroy the sandboxes of the session; they end when they expire.'));
  await orAfter(clock, END_MS, client.close(), () => undefined);
}

/** The SDK has set its own listener before. */
function closed(transport: StdioServerTransport, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const inner = transport.onclose;
    transport.onclose = () => {
      inner?.();
      resolve();
    };
    if (stop.aborted) resolve();
    stop.addEventListener('abort', () => resolve(), { once: true });
  });
}
