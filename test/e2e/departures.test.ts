// Clients that leave at random points of 400 streams and uploads: nothing of what they began is left, neither inside the
// sandbox nor in the server.
import { readdirSync } from 'node:fs';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NOTHING, remains, runtimes } from '../support/checks/auditor.ts';
import { readLedger } from '../support/checks/ledger.ts';
import { seededRandom } from '../support/fakes/ports.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const [DEPARTURES, AT_ONCE] = [400, 8];
/** Of a stream or an upload on a quiet machine; departures fall before, within and after it. */
const LONGEST_MS = 120;
const PATIENCE_MS = 120_000;

describeWith(['root', 'unshare'], `${DEPARTURES} departures`, () => {
  let server: TestServer;
  let client: Api;
  let id: string;
  beforeAll(async () => {
    server = await startServer({ env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' } });
    client = api(server.url);
    id = (await client.spawn({ ttl: '1h' })).id;
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  it('leave no process, descriptor, half-written file or row', async () => {
    const random = seededRandom(400);
    const roll = (sides: number) => random.bytes(4).readUInt32LE() % sides;
    await client.sh(id, 'true');
    const before = { fds: descriptors(server), inside: await processes(client, id) };
    const outcomes = { left: 0, done: 0 };
    for (let n = 0; n < DEPARTURES; n += AT_ONCE) {
      const ways = Array.from({ length: AT_ONCE }, (_, k) => ({
        way: roll(WAYS.length),
        ms: roll(LONGEST_MS),
        n: n + k,
      }));
      const ended = await Promise.all(
        ways.map(({ way, ms, n }) => departs(ms, (signal) => WAYS[way]?.(client, id, n, signal))),
      );
      for (const how of ended) outcomes[how]++;
    }
    expect(outcomes.left).toBeGreaterThan(DEPARTURES / 10);
    await until(
      'the processes of those who left to end',
      async () => (await processes(client, id)) === before.inside,
      PATIENCE_MS,
    );
    // The pool of kept connections of the one who looks is not what is looked for.
    await until('descriptors given back', () => descriptors(server) <= before.fds + AT_ONCE, PATIENCE_MS);
    expect((await client.sh(id, 'find /workspace -name ".*" -type f')).stdout).toBe('');
    await until(
      'spawns of nobody to be found',
      () => readLedger(server.home).live.every(({ state }) => state === 'running'),
      PATIENCE_MS,
    );
    const all = readLedger(server.home).live;
    expect(runtimes(server)).toHaveLength(all.length);
    for (const { id: each } of all) await client.destroy(each);
    expect(
      remains(
        server,
        all.map((row) => row.id),
      ),
    ).toEqual(NOTHING);
  });
});

type Way = (client: Api, id: string, n: number, signal: AbortSignal) => Promise<unknown>;

/** To its end, kept by nobody: some have none. */
const read = async (answer: Promise<Response>) => {
  const { status, body } = await answer;
  if (status !== 200) throw new Error(`answered with ${status}`);
  for await (const _ of body ?? []);
};
const post = (body: object, signal: AbortSignal) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
  signal,
});

const WAYS: readonly Way[] = [
  // A stream that goes on, one that floods, and an exec that answers at its end.
  (client, id, _n, signal) =>
    read(
      client.raw(
        `/sandboxes/${id}/exec`,
        post({ stream: true, command: 'while :; do echo x; sleep 0.01; done' }, signal),
      ),
    ),
  (client, id, _n, signal) =>
    read(client.raw(`/sandboxes/${id}/exec`, post({ stream: true, command: 'exec cat /dev/zero' }, signal))),
  (client, id, _n, signal) =>
    read(client.raw(`/sandboxes/${id}/exec`, post({ command: 'sleep 0.06' }, signal))),
  // An upload whose end may never come, and a download.
  (client, id, n, signal) =>
    read(
      client.raw(`/sandboxes/${id}/files/workspace/f${n % 5}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/octet-stream' },
        body: Readable.toWeb(Readable.from(trickle())) as ReadableStream,
        duplex: 'half',
        signal,
      } as RequestInit),
    ),
  (client, id, _n, signal) => read(client.raw(`/sandboxes/${id}/files?path=/usr/bin/bash`, { signal })),
];

async function* trickle(): AsyncGenerator<Buffer> {
  for (let n = 0; n < 20; n++) {
    yield Buffer.alloc(16_384, n);
    await pause(4);
  }
}

/** Does it, and leaves after `ms` whatever has come of it by then. */
async function departs(
  ms: number,
  work: (signal: AbortSignal) => Promise<unknown> | undefined,
): Promise<'left' | 'done'> {
  const leave = new AbortController();
  const timer = setTimeout(() => leave.abort(), ms);
  try {
    await work(leave.signal);
    return 'done';
  } catch (error) {
    if (!leave.signal.aborted) throw error;
    return 'left';
  } finally {
    clearTimeout(timer);
  }
}

const descriptors = ({ child }: TestServer) => readdirSync(`/proc/${child.pid}/fd`).length;

/** How many the one who counts sees: the same number before and after. */
async function processes(client: Api, id: string): Promise<number> {
  return Number((await client.sh(id, 'ls -d /proc/[0-9]* | wc -l')).stdout);
}
