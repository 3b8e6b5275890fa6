// The real svc-agent on a Unix socket, without namespaces: its commands run on this machine, in a folder of the test.
// SVC_TEST_AGENT names another build, for example the one under the sanitizers.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
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

/** The same agent as it is used on a worker: `open` gives a further host on one session, over a socket of its own. */
export async function startRelayedAgent(): Promise<RealAgent> {
  const agent = await startAgent();
  const worker = await agent.open();
  const path = join(temporaryFolder(), 'relay.sock');
  const server = createServer({ allowHalfOpen: true }, (stream) => void worker.relay(stream)).listen(path);
  onTestFinished(() => void server.close());
  const dial = () => dialSocket(path);
  return {
    pid: agent.pid,
    folder: agent.folder,
    secret: agent.secret,
    dial,
    open: async () => opened(await dial(), undefined),
    memory: agent.memory,
    errors: agent.errors,
  };
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
    open: async () => opened(await dial(), secret),
    memory: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024,
    errors: () => errors,
  };
}

/** Closed with the test. */
async function opened(stream: Socket, secret: Buffer | undefined): Promise<AgentIo> {
  const deps = { stream, secret, clock: realClock(), random: realRandom(), logger: silentLogger };
  const io = await openSession(deps);
  onTestFinished(() => io.close());
  return io;
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

export type StartAgent = typeof startAgent;
/** A suite of the agent holds over both: what is done on this machine, and what is done on a worker. */
export const AGENTS = [
  { way: 'through the real agent', startAgent },
  { way: 'through a relay', startAgent: startRelayedAgent },
];
