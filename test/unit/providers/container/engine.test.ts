// The client of the engine against one that misbehaves: every call ends, as the right kind of failure.
import { expect, it } from 'vitest';
import type { ServiceError } from '../../../../src/domain/errors.ts';
import { realClock } from '../../../../src/host/clock.ts';
import { type Engine, type EngineOrder, openEngine } from '../../../../src/providers/container/engine.ts';
import type { EngineRefusal } from '../../../../src/providers/container/engine-faults.ts';
import { containerConfig } from '../../../support/container.ts';
import {
  brokenOff,
  endless,
  hang,
  reset,
  type ScriptedEngine,
  scriptedEngine,
  status,
} from '../../../support/scripted-engine.ts';

const CALL = 'GET /x';
const order = (more: Partial<EngineOrder> = {}): EngineOrder => ({
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
  ['a refusal that is no JSON', status(409, '<html>'), { name: 'EngineRefusal', words: '<html>' }],
  ['what is no JSON', status(200, '{"Id":'), { code: 'provider_error' }],
  ['an answer that breaks off', brokenOff, { code: 'unavailable' }],
  ['no answer at all', reset, { code: 'unavailable' }],
  ['silence', hang, { code: 'unavailable', message: expect.stringContaining('do x within 0.3 s') }],
  ['an answer without end', endless, { code: 'provider_error' }],
])('%s ends the call', async (_name, answer, failure) => {
  const { scripted, engine } = await engines();
  scripted.on(CALL, answer);
  await expect(
    engine.json(order({ ms: 3000, ...(answer === hang && { ms: 300 }) }), forever),
  ).rejects.toMatchObject(failure);
  engine.close();
});

it('a refusal without end gives its first words only', async () => {
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

it('an empty answer and a 304 are answers', async () => {
  const { scripted, engine } = await engines();
  scripted.on(CALL, status(204), status(304));
  expect(await engine.json(order(), forever)).toBeUndefined();
  expect(await engine.json(order(), forever)).toBeUndefined();
});

it('names the socket in the cause alone', async () => {
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

it('ends with its caller, whose reason it gives', async () => {
  const { scripted, engine } = await engines();
  scripted.on(CALL, hang);
  const stop = new AbortController();
  const call = engine.json(order({ ms: 60_000 }), stop.signal);
  const reason = new Error('enough');
  stop.abort(reason);
  await expect(call).rejects.toBe(reason);
});

it('200 attaches that are silent leave a call its connection', async () => {
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

it('an attach that is refused, or answered in place of an upgrade, is a failure', async () => {
  const { scripted, engine } = await engines();
  scripted.onUpgrade((socket) => socket.end('HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\nno'));
  const attach = order({ method: 'POST', path: '/attach' });
  await expect(engine.upgrade(attach, forever)).rejects.toMatchObject({ status: 409, words: 'no' });
  scripted.onUpgrade((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
  await expect(engine.upgrade(attach, forever)).rejects.toMatchObject({ code: 'provider_error' });
  scripted.onUpgrade(() => undefined);
  await expect(engine.upgrade(attach, forever)).rejects.toMatchObject({ code: 'unavailable' });
});
