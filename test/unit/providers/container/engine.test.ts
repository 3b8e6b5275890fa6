// The client of the engine against one that misbehaves: every call ends, as the right kind of failure.
import { expect, it, vi } from 'vitest';
import type { ServiceError } from '../../../../src/domain/errors.ts';
import { realClock } from '../../../../src/host/clock.ts';
import { type Engine, openEngine } from '../../../../src/providers/container/engine.ts';
import type { EngineRequest } from '../../../../src/providers/container/engine-answers.ts';
import type { EngineRefusal } from '../../../../src/providers/container/engine-faults.ts';
import { containerConfig } from '../../../support/hosts/container.ts';
import {
  brokenOff,
  endless,
  hang,
  reset,
  type ScriptedEngine,
  scriptedEngine,
  status,
} from '../../../support/scripted/engine.ts';

const CALL = 'GET /x';
const order = (more: Partial<EngineRequest> = {}): EngineRequest => ({
  ...{ method: 'GET', path: '/x', what: 'do x', ms: 300 },
  ...more,
});
const forever = new AbortController().signal;

async function engines(): Promise<{ scripted: ScriptedEngine; engine: Engine }> {
  const scripted = await scriptedEngine();
  const config = { ...containerConfig(), socket: scripted.socket };
  return { scripted, engine: openEngine({ config, clock: realClock() }) };
}

it.each([
  ['a refusal', status(500, { message: 'no' }), { name: 'EngineRefusal', status: 500, words: 'no' }],
  ['a refusal that is not JSON', status(409, '<html>'), { name: 'EngineRefusal', words: '<html>' }],
  ['an answer that is not JSON', status(200, '{"Id":'), { code: 'provider_error' }],
  ['an answer that breaks off', brokenOff, { code: 'unavailable' }],
  ['a reset connection', reset, { code: 'unavailable' }],
  ['silence', hang, { code: 'unavailable', message: expect.stringContaining('do x within 0.3 s') }],
  ['an endless answer', endless, { code: 'provider_error' }],
])('%s ends the call', async (_name, answer, failure) => {
  const { scripted, engine } = await engines();
  scripted.on(CALL, answer);
  await expect(
    engine.json(order({ ms: 3000, ...(answer === hang && { ms: 300 }) }), forever),
  ).rejects.toMatchObject(failure);
  engine.close();
});

it('an endless refusal yields only its first words', async () => {
  const { scripted, engine } = await engines();
  scripted.on(CALL, (response) => {
    response.writeHead(500);
    response.write('y'.repeat(1_000_000));
  });
  const error: EngineRefusal = await engine.json(order(), forever).then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toMatchObject({ status: 500 });
  expect(error.words.length).toBeLessThanOrEqual(2048);
});

it('an empty answer and a 304 are valid answers', async () => {
  const { scripted, engine } = await engines();
  scripted.on(CALL, status(204), status(304));
  expect(await engine.json(order(), forever)).toBeUndefined();
  expect(await engine.json(order(), forever)).toBeUndefined();
});

it('names the socket only in the cause', async () => {
  const config = { ...containerConfig(), socket: '/nowhere/at/all.sock' };
  const error: ServiceError = await openEngine({ config, clock: realClock() })
    .json(order(), forever)
    .then(
      () => undefined,
      (reason) => reason,
    );
  expect(error).toMatchObject({ code: 'unavailable' });
  expect(`${error.message} ${error.remedy}`).not.toContain('/nowhere');
  expect(`${error.cause}`).toContain('unix:/nowhere/at/all.sock');
});

it("ends with its caller, with the caller's reason", async () => {
  const { scripted, engine } = await engines();
  scripted.on(CALL, hang);
  const stop = new AbortController();
  const call = engine.json(order({ ms: 60_000 }), stop.signal);
  const reason = new Error('enough');
  stop.abort(reason);
  await expect(call).rejects.toBe(reason);
});

it.each(['http://127.0.0.1:1/', 'ftp://elsewhere/', '//'])('follows no redirect: %s', async (location) => {
  const { scripted, engine } = await engines();
  scripted.on(CALL, (response) => response.writeHead(301, { Location: location }).end());
  // What the modem would ask there fails on nobody's hands: this file ends with an uncaught error.
  await expect(engine.json(order(), forever)).rejects.toMatchObject({ code: 'provider_error' });
});

it('retries only safe requests when the connection breaks', async () => {
  const { scripted, engine } = await engines();
  scripted.on(CALL, reset, status(200, { fine: true }));
  expect(await engine.json(order(), forever)).toEqual({ fine: true });
  scripted.on('POST /x', reset, status(200, { fine: true }));
  await expect(engine.json(order({ method: 'POST' }), forever)).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect(scripted.seen).toEqual([CALL, CALL, 'POST /x']);
});

it.each([
  { DOCKER_HOST: 'tcp://127.0.0.1:1' },
  { DOCKER_HOST: 'tcp://[', DOCKER_CERT_PATH: '/nowhere' },
  { DOCKER_HOST: 'tcp://127.0.0.1:2376', DOCKER_CERT_PATH: '/nowhere', DOCKER_TLS_VERIFY: '1' },
  { DOCKER_HOST: 'ssh://nobody@127.0.0.1', DOCKER_CLIENT_TIMEOUT: '1', DOCKER_PATH_PREFIX: '/elsewhere' },
])('takes the engine address only from the configuration, not from %o', async (environment) => {
  const { scripted, engine } = await engines();
  scripted.on(CALL, status(200, { fine: true }));
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const before = process.env;
  expect(await engine.json(order(), forever).finally(() => vi.unstubAllEnvs())).toEqual({ fine: true });
  expect(process.env).toBe(before);
});

it('sends a body unchanged with its length, and encodes queries', async () => {
  const { scripted, engine } = await engines();
  const heard: [string | undefined, string | undefined, string][] = [];
  scripted.on('POST /x', (response, request) => {
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk) => chunks.push(chunk))
      .on('end', () => {
        const { 'content-type': type, 'content-length': length } = request.headers;
        heard.push([`${request.url} ${type}`, length, `${Buffer.concat(chunks)}`]);
        status(204)(response, request);
      });
  });
  const post = (more: Partial<EngineRequest>) => engine.bytes(order({ method: 'POST', ...more }), forever);
  await post({});
  await post({ query: { name: 'a b', filters: { label: ['c=d'] } }, body: { e: 'é' } });
  await post({ query: {}, body: Buffer.from('tar') });
  expect(heard).toEqual([
    ['/x application/json', '0', ''],
    ['/x?name=a%20b&filters=%7B%22label%22%3A%5B%22c%3Dd%22%5D%7D application/json', '10', '{"e":"é"}'],
    ['/x application/x-tar', '3', 'tar'],
  ]);
});

it('200 silent attaches leave a connection for a call', async () => {
  const { scripted, engine } = await engines();
  scripted.on(CALL, status(200, { fine: true }));
  scripted.onUpgrade((socket) =>
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n'),
  );
  const attach = order({ method: 'POST', path: '/attach', ms: 20_000 });
  const sockets = await Promise.all(
    Array.from({ length: 200 }, () => engine.upgrade(attach, new AbortController().signal)),
  );
  expect(await engine.json(order({ ms: 5000 }), forever)).toEqual({ fine: true });
  for (const socket of sockets) socket.destroy();
});

it('an attach fails when it is refused or answered without an upgrade', async () => {
  const { scripted, engine } = await engines();
  scripted.onUpgrade((socket) => socket.end('HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\nno'));
  const attach = order({ method: 'POST', path: '/attach' });
  await expect(engine.upgrade(attach, forever)).rejects.toMatchObject({ status: 409, words: 'no' });
  scripted.onUpgrade((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
  await expect(engine.upgrade(attach, forever)).rejects.toMatchObject({ code: 'provider_error' });
  scripted.onUpgrade(() => undefined);
  await expect(engine.upgrade(attach, forever)).rejects.toMatchObject({ code: 'unavailable' });
});
