// `GET /session/{id}` of a real worker: openings broken in their bytes, and bytes behind those that are accepted. Whatever
// comes, the connection ends, each refusal is ours, and the sandbox goes on for others.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { signLease } from '../../src/domain/lease.ts';
import { freshToken } from '../../src/domain/worker-token.ts';
import { api } from '../../test/support/servers/api.ts';
import { cli, removeHome, startServer } from '../../test/support/servers/server.ts';
import { until } from '../../test/support/until.ts';
import type { OpenTarget, Target } from './campaign.ts';
import type { Chance } from './chance.ts';
import { faultsIn, WORKER_KEY } from './fuzzed-server.ts';
import { damaged } from './hostile.ts';
import { exchanged, withLine } from './wire.ts';

const ID = 'fuzzed';
const LEASE_MS = 90_000;
const LINES: readonly string[] = [
  'Upgrade: svc-agent\r\n',
  'Upgrade: websocket\r\n',
  'Connection: close\r\n',
  'X-Worker-Token: x\r\n',
  'X-Worker-Lease: e30\r\n',
  'X-Svc-Runtime: userspace/\r\n',
  'Content-Length: 5\r\n',
  'Transfer-Encoding: chunked\r\n',
  `X-Worker-Lease: ${Buffer.from('{"lease":1}').toString('base64url')}\r\n`,
  `X-Worker-Lease: ${'A'.repeat(15_000)}\r\n`,
];

export const sessions: Target = { width: 8, open };

interface FuzzedWorker {
  child: ChildProcess;
  log(): string;
}

function startWorker(control: string, home: string): FuzzedWorker {
  const args = [
    '--id',
    ID,
    '--control-plane',
    control,
    '--heartbeat-interval',
    '1s',
    '--listen',
    '127.0.0.1:0',
  ];
  const child = spawn(process.execPath, [cli, 'worker', ...args], {
    env: {
      PATH: process.env.PATH,
      HOME: home,
      XDG_RUNTIME_DIR: join(home, 'run'),
      SVC_AUTH_WORKER_TOKEN: WORKER_KEY,
      SVC_DATABASE_PATH: join(home, 'worker', 'svc.db'),
      SVC_LOGGING_FORMAT: 'json',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  return { child, log: () => log };
}

async function open(): Promise<OpenTarget> {
  const server = await startServer({ env: { SVC_AUTH_WORKER_TOKEN: WORKER_KEY } });
  const worker = startWorker(server.url, server.home);
  const client = api(server.url);
  const workers = async () =>
    (await client.call<{ id: string; rpc_url?: string }[]>('GET', '/workers')).body.find(
      ({ id }) => id === ID,
    );
  await until('the worker is heard', async () => (await workers())?.rpc_url);
  const port = Number(new URL((await workers())?.rpc_url ?? '').port);
  await client.call('POST', '/admin/workers/local/drain', {});
  const { id } = await client.spawn({ provider: 'userspace', ttl: '2h' });
  return {
    one: (chance) => exchanged(port, bytesOf(chance, id), chance),
    verdict: async () => {
      if (worker.child.exitCode !== null || worker.child.signalCode !== null) return 'the worker has ended';
      const { stdout } = await client.sh(id, 'echo here');
      return stdout === 'here\n' ? faultsIn(worker.log()) : 'the sandbox does not answer';
    },
    close: async () => {
      await client.destroy(id);
      worker.child.kill('SIGTERM');
      await server.stop();
      removeHome(server.home);
    },
  };
}

function bytesOf(chance: Chance, id: string): Buffer {
  let bytes: Buffer = Buffer.from(opening(chance, id), 'latin1');
  for (let times = chance.below(3); times > 0; times -= 1)
    bytes = chance.oneIn(2) ? damaged(chance, bytes) : withLine(chance, bytes.toString('latin1'), LINES);
  return chance.oneIn(2) ? bytes : Buffer.concat([bytes, chance.bytes(1 + chance.below(200))]);
}

/** As a control plane sends it, often. */
function opening(chance: Chance, id: string): string {
  const now = Date.now();
  const lease = signLease(WORKER_KEY, {
    resource_id: chance.oneIn(8) ? 'sb-aaaaaaaaaaaa' : id,
    holder_id: chance.oneIn(8) ? 'other' : ID,
    // Above what the worker has seen.
    generation: 1_000_000,
    expires_at: new Date(now + LEASE_MS).toISOString(),
  });
  const token = freshToken(WORKER_KEY, { worker_id: ID, aud: 'worker:rpc', jti: randomUUID(), now });
  const lines = [
    `GET /session/${chance.oneIn(8) ? 'sb-aaaaaaaaaaaa' : id} HTTP/1.1`,
    ...['Host: w', 'Connection: Upgrade', `Upgrade: ${chance.pick(['svc-agent', 'svc-egress'])}`],
    ...[`X-Worker-ID: ${ID}`, `X-Worker-Token: ${token}`],
    `X-Worker-Lease: ${Buffer.from(JSON.stringify(lease)).toString('base64url')}`,
    `X-Svc-Runtime: userspace${chance.oneIn(8) ? '/other' : ''}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}
