// `svc mcp` on this machine: the clock, a name for the session, and the signals that end it.
import type { Client } from '../client/client.ts';
import { realClock } from '../host/clock.ts';
import { realIds } from '../host/ids.ts';
import { realRandom } from '../host/random.ts';
import type { Profile } from '../mcp/profiles.ts';
import { serveOnStdio } from '../mcp/stdio.ts';

interface McpFlags {
  profile: Profile;
  keep: boolean;
  version: string;
}

/** Resolves when the host has closed standard input, or a signal came. A second signal ends the process at once. */
export async function mcpHere(client: Client, { profile, keep, version }: McpFlags): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => stop.abort());
  await serveOnStdio({
    client,
    profile,
    keep,
    version,
    clock: realClock(),
    stop: stop.signal,
    sessionId: realIds(realRandom()).uuid().slice(0, 8),
    report: (message) => void process.stderr.write(`svc mcp: ${message}\n`),
  });
}
