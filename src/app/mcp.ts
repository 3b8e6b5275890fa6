// `svc mcp` on this machine: the clock, a name for the session, and the signals that end it.
import type { Client } from '../client/client.ts';
import { realClock } from '../host/clock.ts';
import { realIds } from '../host/ids.ts';
import { realRandom } from '../host/random.ts';
import type { HostChecks } from '../mcp/host-tools.ts';
import type { Profile } from '../mcp/profiles.ts';
import { serveOnStdio } from '../mcp/stdio.ts';
import { planDoctor } from '../ops/doctor/doctor.ts';
import { filesHere, lintConfig } from '../ops/lint/lint.ts';
import { doctorHere } from './doctor.ts';

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
    checks: CHECKS,
    clock: realClock(),
    stop: stop.signal,
    sessionId: realIds(realRandom()).uuid().slice(0, 8),
    report: (message) => void process.stderr.write(`svc mcp: ${message}\n`),
  });
}

const CHECKS: HostChecks = {
  doctor: async ({ config, production, only }, signal) => {
    const plan = planDoctor(doctorHere({ file: config, production, signal }), {
      only,
      skip: [],
      probe: false,
    });
    for (const check of plan.groups.flatMap(({ checks }) => checks)) await check.run();
    signal.throwIfAborted();
    return plan.finish();
  },
  lint: ({ file, production }) =>
    lintConfig({
      files: file === undefined ? filesHere() : [file],
      cwd: process.cwd(),
      production,
      assumed: [],
    }),
};
