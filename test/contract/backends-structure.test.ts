// Answers with more structure than they may have, from backends, engines and workers: they are refused while they arrive, and
// meanwhile nothing else waits. Built as a whole each would stall the service for seconds to minutes.
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import type { ServiceError } from '../../src/domain/errors.ts';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { labelsFor } from '../../src/providers/backends/labels.ts';
import { customProvider } from '../../src/providers/custom/custom.ts';
import { hostedProvider } from '../../src/providers/hosted/hosted.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { longestTurn } from '../support/checks/longest-turn.ts';
import { silentLogger } from '../support/fakes/ports.ts';
import { freshId, runInside, runtimeSpec, soon } from '../support/hosts/userspace.ts';
import { hostedBackend } from '../support/scripted/hosted-backend.ts';
import { httpAnswer, rawBackend } from '../support/scripted/raw-backend.ts';
import { customConfig } from '../support/servers/custom-backend.ts';

const MEBIBYTE = 1024 * 1024;
/** Milliseconds of processor; what stalls takes thousands. A busy machine collects garbage in other threads meanwhile. */
const TURN = 300;
const instance = { id: '00000000-0000-4000-8000-00000000bad0' };
const shared = { clock: realClock(), logger: silentLogger, instance };
const JSON_TYPE = 'content-type: application/json';

const custom = (base_url: string) =>
  customProvider({ ...shared, config: { ...customConfig(base_url), timeout: '30s' } });
const hosted = (base_url: string) =>
  hostedProvider({
    ...{ ...shared, random: realRandom() },
    config: {
      ...{ enabled: true, base_url, sandbox_url: base_url, api_key: 'k', template: 'base' },
      ...{ timeout: '30s', max_sandboxes: 0 },
    },
  });

/** `text` over and over, `bytes` in all, between `begin` and `end`; sent as it is taken. */
function long(begin: string, text: string, bytes: number, end: string): (socket: Socket) => void {
  const piece = Buffer.from(text.repeat(Math.ceil(MEBIBYTE / text.length)));
  const count = Math.ceil(bytes / piece.length);
  return (socket) => {
    const length = begin.length + count * piece.length + end.length;
    socket.write(`HTTP/1.1 200 OK\r\n${JSON_TYPE}\r\ncontent-length: ${length}\r\n\r\n${begin}`);
    let left = count;
    const more = () => {
      while (left > 0 && !socket.destroyed) {
        left -= 1;
        if (!socket.write(piece)) return void socket.once('drain', more);
      }
      socket.write(end);
    };
    more();
  };
}

const inside = async (provider: Provider) =>
  provider.attach({ id: 'sb-a', epoch: 1, runtime_id: 'a' }, soon());

/** Whose, what it is asked for, and what it answers. */
const HOSTILE: readonly [
  string,
  (url: string) => Provider,
  (provider: Provider) => Promise<unknown>,
  (socket: Socket) => void,
][] = [
  ['list of empty objects', custom, (one) => one.list(soon()), long('[{}', ',{}', 63 * MEBIBYTE, ']')],
  ['list of lists', custom, (one) => one.list(soon()), long('[[]', ',[]', 63 * MEBIBYTE, ']')],
  ['element that is long', custom, (one) => one.list(soon()), long('[{"a":[0', ',0', 63 * MEBIBYTE, ']}]')],
  ['element that is deep', custom, (one) => one.list(soon()), long('', '[', 63 * MEBIBYTE, '')],
  [
    'sandbox',
    custom,
    (one) => one.create(runtimeSpec(freshId()), soon()),
    long('{"id":"a","x":[0', ',0', MEBIBYTE - 1e5, ']}'),
  ],
  [
    'result of a command',
    custom,
    async (one) => runInside(await inside(one), ['true']),
    long('{"stdout":"","x":[{}', ',{}', 63 * MEBIBYTE, ']}'),
  ],
  [
    'list of files',
    custom,
    async (one) => (await inside(one)).files.list('/workspace', 1),
    long('[{}', ',{}', 30 * MEBIBYTE, ']'),
  ],
  ['page of sandboxes', hosted, (one) => one.list(soon()), long('[{}', ',{}', 20 * MEBIBYTE, ']')],
];

it.each(HOSTILE)('%s', async (_, make, call, answers) => {
  const backend = await rawBackend((socket, asked) =>
    asked.startsWith('GET /status/')
      ? void socket.write(httpAnswer('200 OK', '{"id":"a","state":"running"}', [JSON_TYPE]))
      : answers(socket),
  );
  const provider = make(backend.url);
  try {
    // What is loaded at first is loaded before.
    await provider.list(AbortSignal.timeout(1)).catch(() => undefined);
    const { value: failed, longest } = await longestTurn(() =>
      call(provider).then(
        (given) => ({ code: 'none', message: JSON.stringify(given) }) as unknown as ServiceError,
        (error: ServiceError) => error,
      ),
    );
    expect(failed.code, failed.message).toBe('provider_error');
    expect(longest).toBeLessThan(TURN);
  } finally {
    await provider.close();
    await backend.close();
  }
});

it('accepts honest lists and results of the largest size, and delays no other work', async () => {
  const one = JSON.stringify({
    ...{ id: 'a', state: 'running', created_at: new Date().toISOString() },
    metadata: labelsFor(instance, runtimeSpec(freshId())),
  });
  const list = long(`[${one}`, `,${one}`, 12 * MEBIBYTE, ']');
  const result = long('{"exit_code":0,"stdout":"', 'text\\n', 40 * MEBIBYTE, '"}');
  const backend = await rawBackend((socket, asked) => {
    if (asked.startsWith('GET /status/'))
      socket.write(httpAnswer('200 OK', '{"id":"a","state":"running"}', [JSON_TYPE]));
    else if (asked.startsWith('GET')) list(socket);
    else result(socket);
  });
  const provider = custom(backend.url);
  try {
    const listed = await longestTurn(() => provider.list(soon()));
    expect(listed.value.length).toBeGreaterThan(20_000);
    expect(listed.longest).toBeLessThan(TURN);
    const run = (await inside(provider)).exec({ exec_id: 'ex-a', argv: ['true'], label: 'true', env: {} });
    const counted = await longestTurn(async () => {
      let bytes = 0;
      for await (const { data } of run.output) bytes += data.length;
      return { bytes, exit: await run.exit };
    });
    expect(counted.value.exit.exit_code).toBe(0);
    expect(counted.value.bytes).toBeGreaterThan(30 * MEBIBYTE);
    expect(counted.longest).toBeLessThan(TURN);
  } finally {
    await provider.close();
    await backend.close();
  }
});

it('refuses a folder that is too large for the library of a hosted backend', async () => {
  const backend = await hostedBackend();
  const provider = backend.provider();
  try {
    const spec = runtimeSpec(freshId());
    const { runtime_id } = await provider.create(spec, soon());
    const { files } = await provider.attach({ id: spec.id, epoch: spec.epoch, runtime_id }, soon());
    let count = 2500;
    backend.instead = (req, res) => {
      if (!req.url?.includes('ListDir')) return false;
      req.resume();
      const entry = {
        ...{ type: 'FILE_TYPE_FILE', size: '1', mode: 420, permissions: '-rw-r--r--' },
        owner: 'u',
      };
      const more = { ...entry, group: 'u', modifiedTime: '2026-01-01T00:00:00Z' };
      const entries = Array.from({ length: count }, (_, at) => ({
        name: `f${at}`,
        path: `/workspace/f${at}`,
        ...more,
      }));
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ entries }));
      return true;
    };
    expect(await files.list('/workspace', 1)).toHaveLength(2500);
    count = 20_000;
    await expect(files.list('/workspace', 1)).rejects.toMatchObject({ code: 'payload_too_large' });
  } finally {
    await provider.close();
    await backend.close();
  }
});
