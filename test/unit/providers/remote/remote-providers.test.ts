// Calls to workers that answer as they should not: nothing of what they say goes further than a cause, and nothing lasts.
import { readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { OMIT_STRICT } from '../../../../src/domain/differences.ts';
import { ServiceError } from '../../../../src/domain/errors.ts';
import { realClock } from '../../../../src/host/clock.ts';
import type { RemoteProviders, RemoteWorker } from '../../../../src/providers/provider.ts';
import { remoteProviders } from '../../../../src/providers/remote/remote-providers.ts';
import { SENTENCES } from '../../../../src/providers/remote/reported-differences.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';
import { httpAnswer, type RawBackend, rawBackend } from '../../../support/scripted/raw-backend.ts';

const MARK = 'text-of-the-worker';
const SECRET = 'the secret of w1, not to be told to anybody';
const LEASE = {
  ...{ resource_id: 'sb-1', holder_id: 'w1', generation: 1, expires_at: '2026-01-02T03:05:05.000Z' },
  signature: 's'.repeat(43),
};
const SPEC = {
  ...{ id: 'sb-1', epoch: 1, image: undefined, memory_mb: 64, vcpus: 1, network: 'default' as const },
  ...{ expires_at: '2026-01-02T04:04:05.000Z', lease: LEASE },
};
const SPAWNED = {
  sandbox_id: 'sb-1',
  runtime_id: 'r1',
  state: 'running',
  provider: 'userspace',
  worker_id: 'w1',
};

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each.close();
});

interface Line {
  there: RawBackend;
  remote: RemoteProviders;
  worker: RemoteWorker;
  /** Of the last call. */
  spawn(): Promise<unknown>;
}

/** A worker that answers with what `answer` writes, given the id of the call. */
async function line(answer: (socket: Socket, id: string) => void, allowLoopback = true): Promise<Line> {
  const there = await rawBackend((socket, asked) => {
    const id = /"id":"([^"]+)"/.exec(asked)?.[1];
    if (id !== undefined) answer(socket, id);
  });
  const remote = remoteProviders({ ...fakeDeps(), clock: realClock(), allowLoopback });
  closing.push(there, remote);
  const worker = { id: 'w1', rpc_url: there.url, secret: SECRET };
  const late = () => AbortSignal.timeout(5000);
  return { there, remote, worker, spawn: () => remote.of(worker, 'userspace').create(SPEC, late()) };
}

const says = (status: string, body: unknown) => (socket: Socket, id: string) =>
  socket.write(
    httpAnswer(status, JSON.stringify(typeof body === 'function' ? body(id) : body), [
      'content-type: application/json',
    ]),
  );
const failure = async (call: Promise<unknown>): Promise<ServiceError> => {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ServiceError);
  return error as ServiceError;
};
const expectTyped = (error: ServiceError, code: string) => {
  expect(error.code).toBe(code);
  const shown = JSON.stringify([error.message, error.remedy, error.details]);
  for (const word of [MARK, SECRET]) expect(shown).not.toContain(word);
};

it('a valid answer of a worker starts a sandbox, under a token made for the call', async () => {
  const { there, spawn } = await line(
    says('200 OK', (id: string) => ({ id, worker_id: 'w1', result: { ...SPAWNED, memory_mb: 32 } })),
  );
  expect(await spawn()).toEqual({
    ...{ runtime_id: 'r1', image: 'userspace', memory_mb: 32, vcpus: 1, warnings: [] },
  });
  expect(there.received).toContain('"method":"worker.spawn"');
  expect(there.received).not.toContain(SECRET);
});

it('passes on only warnings of a worker that are sentences of our providers', async () => {
  const warnings = [
    'Memory is 32 MB instead of 64.',
    `The image is read-only: bubblewrap does not support an overlay. ${MARK}`,
    `Image ${MARK} is not on this machine: the sandbox runs on ${MARK}.`,
    `The image declares volumes: /${MARK}. Each is memory of bounded size, and empty.`,
    `\x1b[2J${MARK}`,
  ];
  const { spawn } = await line(
    says('200 OK', (id: string) => ({ id, worker_id: 'w1', result: { ...SPAWNED, warnings } })),
  );
  expect(((await spawn()) as { warnings: string[] }).warnings).toEqual([
    'Worker w1 reports a difference that this server does not know.',
    'Memory is 32 MB instead of 64.',
    'The image is read-only: bubblewrap does not support an overlay.',
    'The image is not an image of worker w1.',
    'The image declares volumes. Each is memory of bounded size, and empty.',
  ]);
});

it('names the known differences in the refusal of a strict spawn', async () => {
  const refusal = (message: string) =>
    says('412 x', (id: string) => ({
      id,
      worker_id: 'w1',
      error: { code: 'precondition_failed', message },
    }));
  const words = 'The sandbox would differ from the request.';
  // A worker writes its remedy behind.
  for (const remedy of ['', ` ${OMIT_STRICT}`]) {
    const differs = refusal(`${words} Memory is 32 MB instead of 64.${remedy}`);
    expect(await failure((await line(differs)).spawn())).toMatchObject({
      ...{ code: 'precondition_failed', message: `${words} Memory is 32 MB instead of 64.` },
      details: { unmet: ['Memory is 32 MB instead of 64.'] },
    });
  }
  for (const message of [MARK, '', `${words} ${MARK}`]) {
    const unknown = await failure((await line(refusal(message))).spawn());
    expectTyped(unknown, 'precondition_failed');
    expect(unknown.message).toContain('Worker w1 reports a difference');
  }
});

it('passes on only sentences that a provider has', () => {
  const sources = ['src/providers', 'agent/src/init'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|c)$/.test(file) && !file.includes('remote/'))
      .map((file) => readFileSync(`${folder}/${file}`, 'utf8')),
  );
  const missing = SENTENCES.flatMap((text) => text.split('#')).filter(
    (part) => part.trim().length > 9 && !sources.some((source) => source.includes(part)),
  );
  expect(missing).toEqual([]);
});

it.each(['inspect', 'destroy'] as const)('%s refuses an answer about another sandbox', async (what) => {
  const result = { sandbox_id: 'sb-2', state: 'gone', provider: 'userspace' };
  const { remote, worker } = await line(says('200 OK', (id: string) => ({ id, worker_id: 'w1', result })));
  const ref = { id: 'sb-1', epoch: 1, runtime_id: 'r1', lease: LEASE };
  const call = remote.of(worker, 'userspace')[what](ref, AbortSignal.timeout(5000));
  expectTyped(await failure(call), 'provider_error');
});

const ok = { worker_id: 'w1', result: SPAWNED };
describe.each<[string, (socket: Socket, id: string) => void]>([
  ['of another call', says('200 OK', { id: 'another', ...ok })],
  ['of another worker', says('200 OK', (id: string) => ({ ...ok, id, worker_id: 'w2' }))],
  ['without a result', says('200 OK', (id: string) => ({ id, worker_id: 'w1' }))],
  ['with a result of another shape', says('200 OK', (id: string) => ({ ...ok, id, result: { [MARK]: 1 } }))],
  [
    'with a long name of a runtime',
    says('200 OK', (id: string) => ({ ...ok, id, result: { ...SPAWNED, runtime_id: 'r'.repeat(600) } })),
  ],
  ...(
    [
      ['of another sandbox', { sandbox_id: 'sb-2' }],
      ['of another provider', { provider: 'container' }],
      ['of another worker than that of the lease', { worker_id: 'w2' }],
      ['with more memory than asked for', { memory_mb: 129 }],
      ['with more processors than asked for', { vcpus: 2 }],
      ['with no memory', { memory_mb: 0 }],
      ['with a negative number of processors', { vcpus: -1 }],
      ['with a runtime that no provider names so', { runtime_id: 'r\n1' }],
      ['with an image that is no name', { image: 'a\u001b[2J' }],
      ['with a long image', { image: 'i'.repeat(600) }],
      ['with many warnings', { warnings: Array(65).fill('w') }],
      ['with a long warning', { warnings: ['w'.repeat(1025)] }],
    ] as const
  ).map(
    ([what, lie]) =>
      [what, says('200 OK', (id: string) => ({ ...ok, id, result: { ...SPAWNED, ...lie } }))] as [
        string,
        (socket: Socket, id: string) => void,
      ],
  ),
  [
    'with a code that there is not',
    says('500 x', (id: string) => ({ id, worker_id: 'w1', error: { code: MARK, message: MARK } })),
  ],
  ['that is no JSON', (socket) => socket.write(httpAnswer('200 OK', `{${MARK}`))],
  ['that is a list', says('200 OK', [MARK])],
  ['that is deep', (socket) => socket.write(httpAnswer('200 OK', '['.repeat(100_000)))],
  ['that is huge', (socket) => socket.write(httpAnswer('200 OK', `"${'x'.repeat(300 * 1024)}"`))],
  [
    'that is to be decompressed',
    (socket) => socket.write(httpAnswer('200 OK', gzipSync(MARK.repeat(1e5)), ['content-encoding: gzip'])),
  ],
  [
    'that leads elsewhere',
    (socket) => socket.write(httpAnswer('307 x', '', [`location: http://127.0.0.1:1/${MARK}`])),
  ],
  ['of a page', (socket) => socket.write(httpAnswer('404 Not Found', `<html>${MARK}`))],
])('an answer %s', (_what, answer) => {
  it('is a provider error with our own message', async () => {
    const { spawn } = await line(answer);
    const error = await failure(spawn());
    expectTyped(error, 'provider_error');
    expect(error.message).toMatch(/^Worker w1 /);
  });
});

it.each([
  ['not_found', 'not_found'],
  ['conflict', 'conflict'],
  ['resource_limit', 'resource_limit'],
  ['forbidden', 'unavailable'],
  ['unauthorized', 'unavailable'],
  ['internal', 'provider_error'],
  ['bad_request', 'bad_request'],
  ['timeout', 'timeout'],
  ['provider_error', 'provider_error'],
])(
  'the worker error %s is reported as %s, with the id of the worker and without its text',
  async (said, told) => {
    const answer = (id: string) => ({ id, worker_id: 'w1', error: { code: said, message: MARK } });
    const { spawn } = await line(says('400 x', answer));
    const error = await failure(spawn());
    expectTyped(error, told);
    expect(error).toMatchObject({
      message: expect.stringMatching(/^Worker w1 /),
      details: { worker_id: 'w1' },
    });
  },
);

it.each(['401 x', '403 x', '503 x'])(
  'a status %s without a valid answer is reported as an unusable worker',
  async (status) => {
    const { spawn } = await line((socket) => socket.write(httpAnswer(status, MARK)));
    expectTyped(await failure(spawn()), 'unavailable');
  },
);

it.each<[string, (socket: Socket) => void]>([
  ['says nothing', () => undefined],
  ['never ends its head', (socket) => void socket.write(`HTTP/1.1 200 OK\r\nx-mark: ${MARK}`)],
  [
    'never ends its body',
    (socket) => void socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n"${MARK}`),
  ],
])('a worker that %s is given up at the deadline of the call', async (_what, answer) => {
  const { remote, worker } = await line(answer);
  const reason = new ServiceError('timeout', 'too long');
  const late = new AbortController();
  const asked = failure(remote.of(worker, 'userspace').inspect({ id: 'sb-1', epoch: 1 }, late.signal));
  setTimeout(() => late.abort(reason), 50);
  expectTyped(await asked, 'timeout');
});

it('a worker that hangs up is reported as unreachable', async () => {
  const { spawn } = await line((socket) => socket.destroy());
  expectTyped(await failure(spawn()), 'unavailable');
});

it('a worker that names loopback is not called, unless that is allowed', async () => {
  const { there, remote, worker } = await line(() => undefined, false);
  expect(() => remote.of(worker, 'userspace')).toThrow(expect.objectContaining({ code: 'unavailable' }));
  await expect(remote.renew(worker, LEASE, '1h', AbortSignal.timeout(5000))).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect(there.connections).toBe(0);
});

it('a worker that has moved is called at its new address with its new secret', async () => {
  const answer = says('200 OK', (id: string) => ({ ...ok, id }));
  const [before, after] = [await line(answer), await line(answer)];
  await before.spawn();
  const moved = { ...before.worker, rpc_url: after.there.url };
  await before.remote.of(moved, 'userspace').create(SPEC, AbortSignal.timeout(5000));
  expect([before.there.connections, after.there.connections]).toEqual([1, 1]);
});

it.each([
  ['404 x', '{"code":"not_found","message":"MARK"}', 'not_found', 'Worker w1 does not have'],
  ['403 x', '{"code":"forbidden","message":"MARK"}', 'unavailable', 'Worker w1 does not accept our calls'],
  ['409 x', 'MARK', 'unavailable', 'Worker w1 did not open a session'],
  ['200 OK', 'MARK', 'unavailable', 'Worker w1 did not open a session'],
])(
  'names the worker of a session refused with %s %s, without its text',
  async (status, body, code, words) => {
    const there = await rawBackend((socket) =>
      socket.write(httpAnswer(status, body.replace('MARK', MARK), ['content-type: application/json'])),
    );
    const remote = remoteProviders({ ...fakeDeps(), clock: realClock(), allowLoopback: true });
    closing.push(there, remote);
    const provider = remote.of({ id: 'w1', rpc_url: there.url, secret: SECRET }, 'userspace');
    const ref = { id: 'sb-1', epoch: 1, runtime_id: 'r1', lease: LEASE };
    const error = await failure(provider.attach(ref, AbortSignal.timeout(5000)));
    expectTyped(error, code);
    expect(error).toMatchObject({ message: expect.stringContaining(words), details: { worker_id: 'w1' } });
  },
);
