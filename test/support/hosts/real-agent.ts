// The real svc-agent on a Unix socket, without namespaces: its commands run on this machine, in a folder of the test.
// SVC_TEST_AGENT names another build, for example the one under the sanitizers.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AgentIo } from '../../../src/agent/io.ts';
import { openSession } from '../../../src/agent/session.ts';
import { realClock } from '../../../src/host/clock.ts';
import { packageRoot } from '../../../src/host/package-root.ts';
import { realRandom } from '../../../src/host/random.ts';
import { silentLogger } from '../fakes/ports.ts';
import { temporaryFolder } from '../temporary.ts';
import { until } from '../until.ts';

export const AGENT = process.env.SVC_TEST_AGENT ?? join(packageRoot(), 'agent', 'build', 'svc-agent');
/** Under the sanitizers numbers of memory and speed say nothing. */
export const isSanitized = AGENT.includes('asan');

export interface RealAgent {
  pid: number;
  /** An empty folder for the test's files, and the default workdir. */
  folder: string;
  secret: Buffer;
  /** A new connection, nothing said on it. */
  dial(): Promise<Socket>;
  /** A new session, which ends the one before it. Closed with the test. */
  open(): Promise<AgentIo>;
  /** Resident memory in bytes. */
  memory(): number;
  /** What it wrote to standard error: findings of the sanitizers, among others. */
  errors(): string;
}

/** Starts one agent for the test that is running; it is ended with it. */
export async function startAgent(): Promise<RealAgent> {
  if (!existsSync(AGENT)) throw new Error('The agent is not built: npm run build:agent');
  const folder = temporaryFolder();
  const run = temporaryFolder();
  const socket = join(run, 'agent.sock');
  const secret = Buffer.from('fedcba9876543210');
  const args = ['serve', '--listen', socket, '--secret-hex', secret.toString('hex'), '--workdir', folder];
  const child = spawn(AGENT, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder },
  });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  onTestFinished(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.kill('SIGTERM')) await ended;
    if (/Sanitizer|runtime error/.test(errors)) throw new Error(errors);
  });
  await until('the socket of the agent', () => isSocket(socket) || (child.exitCode !== null && errors));
  const dial = () => dialSocket(socket);
  return {
    pid: child.pid as number,
    folder,
    secret,
    dial,
    open: async () => {
      const io = await openSession({
        stream: await dial(),
        secret,
        clock: realClock(),
        random: realRandom(),
        logger: silentLogger,
      });
      onTestFinished(() => io.close());
      return io;
    },
    memory: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024,
    errors: () => errors,
  };
}

function isSocket(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isSocket() ?? false;
}

function dialSocket(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true }, () => resolve(socket.off('error', reject)));
    socket.once('error', reject);
    onTestFinished(() => void socket.destroy());
  });
}
