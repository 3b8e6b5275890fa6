// The load of a soak: complete lives of sandboxes, and between them faults, one kind after another. A call that meets a fault
// may end with one of the expected errors; any other error is a failure.
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '../src/client/client.ts';
import { ServiceError } from '../src/domain/errors.ts';
import type { ErrorCode } from '../src/schema/error.ts';
import { enginePids, processesUnder } from './soak-sample.ts';

export interface Soaked {
  client: Client;
  address: string;
  pid: number;
  home: string;
}

/** Errors that a call may return while a process below it is killed or stopped; `provider_error`: killed before its start. */
const EXPECTED: readonly ErrorCode[] = ['unavailable', 'not_found', 'conflict', 'timeout', 'provider_error'];
const HELD_MS = 300;
const LEAVES_MS = 60;
/** Every so many cycles one more reader of events comes, and one in so many of them meets a fault. */
const FAULT_EVERY = 5;

/** One life; throws on a wrong answer. With `faults` some lives meet a fault, chosen by `number`. */
export async function live(soaked: Soaked, number: number, faults: boolean): Promise<void> {
  const fault =
    faults && number % FAULT_EVERY === 0 ? TROUBLES[(number / FAULT_EVERY) % TROUBLES.length] : undefined;
  const trouble = fault?.(soaked);
  try {
    await oneLife(soaked.client);
  } catch (error) {
    // A fault may reach the lives beside it.
    if (!faults || !isExpected(error)) throw error;
  } finally {
    await trouble;
  }
}

/** Ends what lives that met a fault have left, until nothing is. */
export async function tidy({ client }: Soaked, kept: readonly string[]): Promise<void> {
  for (;;) {
    const left = (await client.listAll()).filter(({ id }) => !kept.includes(id));
    if (left.length === 0) return;
    for (const { id } of left) await client.destroy(id).catch(expected);
  }
}

async function oneLife(client: Client): Promise<void> {
  const { id } = await client.spawn({ ttl: '10m' });
  const { stdout } = await client.exec(id, { command: 'echo ok' });
  if (stdout !== 'ok\n') throw new Error(`the exec answered ${JSON.stringify(stdout)}`);
  await client.files.write(id, '/workspace/file', Buffer.from('kept'));
  const read = await client.files.read(id, '/workspace/file');
  if (read.toString() !== 'kept') throw new Error(`the file held ${JSON.stringify(read.toString())}`);
  await client.destroy(id);
}

const TROUBLES: readonly ((soaked: Soaked) => Promise<void>)[] = [
  ({ client }) => leaving((signal) => client.spawn({ ttl: '10m' }, { signal })),
  commandIsLeft,
  readerStops,
  ({ pid }) => held([pid]),
  runtimeIsKilled,
  ({ home }) => held(enginePids(home)),
];

/** A client that goes away in the middle of its call. */
async function leaving(call: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  await call(AbortSignal.timeout(LEAVES_MS)).catch(() => undefined);
}

async function commandIsLeft({ client }: Soaked): Promise<void> {
  const { id } = await client.spawn({ ttl: '10m' });
  await leaving((signal) => client.exec(id, { command: 'head -c 5000000 /dev/zero; sleep 60' }, signal));
  await client.destroy(id).catch(expected);
}

async function readerStops({ address }: Soaked): Promise<void> {
  await leaving(async (signal) => {
    const answer = await fetch(`${address}/api/v1/events?since=1h`, { signal });
    await answer.body?.getReader().read();
    await pause(HELD_MS, undefined, { signal });
  });
}

async function held(pids: readonly number[]): Promise<void> {
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  await pause(HELD_MS);
  for (const pid of pids) process.kill(pid, 'SIGCONT');
}

/** Kills process 1 of a userspace sandbox. Under an engine it is not a process below the server. */
async function runtimeIsKilled({ pid }: Soaked): Promise<void> {
  const [agent] = processesUnder(pid).filter(({ command }) => /svc-agent\S* init /.test(command));
  try {
    if (agent) process.kill(agent.pid, 'SIGKILL');
  } catch {
    // Its life was over before.
  }
}

const isExpected = (error: unknown) => error instanceof ServiceError && EXPECTED.includes(error.code);

function expected(error: unknown): void {
  if (!isExpected(error)) throw error;
}
