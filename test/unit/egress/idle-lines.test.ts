// Connections to targets that the next program uses again: for the same user and the same credential, for a second.
import { expect, it } from 'vitest';
import { egressCredential } from '../../../src/domain/egress/credential.ts';
import { fakeClock } from '../../support/fakes/ports.ts';
import {
  ask,
  HOST,
  inside,
  instance,
  type Side,
  side,
  toEndpoint,
  toHost,
  world,
} from '../../support/servers/brokered-side.ts';
import { applied, type SideOptions, textUntil } from '../../support/servers/egress-side.ts';
import { until } from '../../support/until.ts';

/** One request of a program that connects and ends. */
async function once(made: Side, path: string, more: object = {}): Promise<number> {
  const socket = await inside(made);
  const { status } = await ask(socket, toHost(path, more), 'method' in more ? 'body' : undefined);
  await end(made, socket);
  return status;
}

async function end(made: Side, socket: { destroy(): void }): Promise<void> {
  socket.destroy();
  await until(
    'the end',
    () => (made.gate.counters.open === 0 && made.egress.diagnostics().clients === 0) || undefined,
  );
}

const timed = () => {
  const clock = fakeClock();
  return { clock, options: { deps: { clock, roots: [world.certificate] } } satisfies SideOptions };
};

it('serves the next program of the same user, and each request is decided and logged', async () => {
  const made = await side();
  expect([await once(made, '/1'), await once(made, '/2', { method: 'POST' })]).toEqual([200, 200]);
  const program = await made.program();
  expect((await ask(program, toEndpoint('/3'))).status).toBe(200);
  expect(made.target.connections()).toBe(1);
  expect(made.dialed.length).toBe(1);
  const lines = await until('the lines', () => (made.gate.log().length > 2 ? made.gate.log() : undefined));
  expect(lines).toMatchObject(
    ['/1', '/2', '/3'].map((path) => ({ path, credential: 'openai', status: 200 })),
  );
  expect(made.gate.counters).toMatchObject({ allowed: 3, denied: 0, failed: 0 });
});

it('serves one program at a time', async () => {
  const made = await side();
  await once(made, '/1');
  const [one, other] = [await inside(made), await inside(made)];
  await Promise.all([ask(one, toHost('/2')), ask(other, toHost('/3'))]);
  expect(made.target.connections()).toBe(2);
});

it('waits for a second', async () => {
  const { clock, options } = timed();
  const made = await side({}, options);
  await once(made, '/1');
  await clock.advance(999);
  await once(made, '/2');
  expect(made.target.connections()).toBe(1);
  await clock.advance(1000);
  await until('the end', () => made.egress.diagnostics().open === 0 || undefined);
  await once(made, '/3');
  expect(made.target.connections()).toBe(2);
});

it('serves no request that comes a second after its program has connected', async () => {
  const { clock, options } = timed();
  const made = await side({}, options);
  await once(made, '/1');
  const socket = await inside(made);
  await clock.advance(1000);
  expect((await ask(socket, toHost('/late', { method: 'POST' }), 'body')).status).toBe(200);
  expect(made.target.connections()).toBe(2);
});

it.each(['/last', '/soon', '/login'])('serves nobody else after the answer to %s', async (path) => {
  const made = await side();
  await once(made, path);
  expect(made.egress.diagnostics().open).toBe(0);
  await once(made, '/2');
  expect(made.target.connections()).toBe(2);
});

it.each([
  ['another user', 1001],
  ['a user whom nobody knows', undefined],
])('does not serve %s', async (_, second) => {
  let uid: number | undefined = 1000;
  const made = await side({}, { uid: () => uid });
  await once(made, '/1');
  uid = second;
  await once(made, '/2');
  await once(made, '/3');
  expect(made.target.connections()).toBe(second === undefined ? 3 : 2);
});

it('does not serve requests with another credential', async () => {
  const facts = { hosts: [HOST], format: '{value}' };
  const credentials = [
    egressCredential('a', { ...facts, path_prefixes: ['/a'] }, 'secret of a'),
    egressCredential('b', { ...facts, path_prefixes: ['/b'] }, 'secret of b'),
  ];
  const made = await side({}, { policy: { credentials } });
  for (const path of ['/a', '/b', '/b/2']) expect(await once(made, path)).toBe(200);
  expect(made.target.connections()).toBe(2);
});

it('ends with the policy under which it served', async () => {
  const made = await side();
  await once(made, '/1');
  const { credentials } = made.policy;
  await made.gate.change(applied({ allow: [HOST] }, { credentials, authority: instance }));
  await until('the end', () => made.egress.diagnostics().open === 0 || undefined);
  await once(made, '/2');
  expect(made.target.connections()).toBe(2);
});

it('does not outlive a value that has been replaced while it served', async () => {
  const made = await side();
  const socket = await inside(made);
  await ask(socket, toHost('/1'));
  const credentials = [egressCredential('openai', { hosts: [HOST] }, 'another value')];
  await made.gate.change(applied({ allow: [HOST] }, { credentials, authority: instance }));
  await end(made, socket);
  await once(made, '/2');
  expect(made.target.connections()).toBe(2);
});

it('ends with the sandbox', async () => {
  const made = await side();
  await once(made, '/1');
  await made.gate.close();
  await until('the end', () => made.egress.diagnostics().open === 0 || undefined);
});

it('makes room for connections to other targets', async () => {
  const made = await side({}, { policy: { max_connections: 1 } });
  await once(made, '/1');
  expect(made.egress.diagnostics().open).toBe(1);
  const socket = await made.program();
  socket.write('CONNECT other.example.com:443 HTTP/1.1\r\nHost: other.example.com\r\n\r\n');
  expect(await textUntil(socket, '\r\n\r\n')).toMatch(/^HTTP\/1\.1 (?:200|502) /);
});

it('is one of four at most', async () => {
  const { options } = timed();
  const made = await side({}, options);
  const sockets = await Promise.all(Array.from({ length: 6 }, () => inside(made)));
  await Promise.all(sockets.map((socket) => ask(socket, toHost('/'))));
  expect(made.egress.diagnostics().open).toBe(6);
  for (const socket of sockets) socket.destroy();
  await until('the rest', () => made.egress.diagnostics().open === 4 || undefined);
  expect(made.gate.counters.open).toBe(0);
});

it('is not used when its target has closed it', async () => {
  const made = await side();
  await once(made, '/1');
  made.target.drop();
  await until('the end', () => made.egress.diagnostics().open === 0 || undefined);
  expect(await once(made, '/2', { method: 'POST' })).toBe(200);
});

it('repeats a request that it lost only where that is safe', async () => {
  const made = await side();
  await once(made, '/1');
  expect(await once(made, '/cut')).toBe(200);
  expect(await once(made, '/cut', { method: 'POST' })).toBe(502);
  const asked = made.target.seen.map(({ method, url }) => `${method} ${url}`);
  expect(asked).toEqual(['GET /1', 'GET /cut', 'GET /cut', 'POST /cut']);
});
