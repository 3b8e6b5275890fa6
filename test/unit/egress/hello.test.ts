// The server name of TLS, from what clients send and from what only attackers do.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { connect } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { HelloReader } from '../../../src/egress/hello.ts';
import { clientHello } from '../../support/checks/client-hello.ts';
import { applied, egressSide, target, textUntil, textUntilEnd } from '../../support/servers/egress-side.ts';

const read = (bytes: Buffer, size = bytes.length) => {
  const reader = new HelloReader();
  for (let at = 0; at < bytes.length; at += size) {
    const reading = reader.write(bytes.subarray(at, at + size));
    if (reading.kind !== 'more') return reading;
  }
  return { kind: 'more' };
};

/** What Node's own client sends first. */
async function realHello(servername: string): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', servername });
  socket.on('error', () => undefined);
  const [incoming] = (await once(server, 'connection')) as [Socket];
  const [bytes] = (await once(incoming, 'data')) as [Buffer];
  onTestFinished(() => {
    socket.destroy();
    incoming.destroy();
    server.close();
  });
  return bytes;
}

/** A hello and the beginning of another one in one record. */
function overfull(): Buffer {
  const bytes = Buffer.concat([clientHello({ names: ['a.example.com'] }), Buffer.from([1, 0])]);
  bytes.writeUInt16BE(bytes.length - 5, 3);
  return bytes;
}

it('reads the name of a real client, however its bytes arrive', async () => {
  const bytes = await realHello('api.example.com');
  for (const size of [bytes.length, 100, 1])
    expect(read(bytes, size)).toEqual({ kind: 'hello', name: 'api.example.com' });
});

it.each([
  [
    'one byte in each record',
    clientHello({ names: ['a.example.com'], perRecord: 1 }),
    { kind: 'hello', name: 'a.example.com' },
  ],
  ['no server name', clientHello({}), { kind: 'hello', name: undefined }],
  ['two server names', clientHello({ names: ['a.example.com', 'b.example.com'] }), { kind: 'invalid' }],
  ['a name with NUL', clientHello({ names: ['a.example.com\0.b'] }), { kind: 'invalid' }],
  ['an empty name', clientHello({ names: [''] }), { kind: 'invalid' }],
  ['17 KiB', clientHello({ names: ['a.example.com'], padding: 17_000 }), { kind: 'invalid' }],
  ['another message', Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0]), { kind: 'invalid' }],
  ['an empty record', Buffer.from([22, 3, 1, 0, 0]), { kind: 'invalid' }],
  ['another message in its record', overfull(), { kind: 'invalid' }],
  ['a record of SSL 2', Buffer.from([22, 2, 0, 0, 1, 1]), { kind: 'invalid' }],
])('reads a hello with %s as one meaning or none', (_, bytes, expected) => {
  for (const size of [bytes.length, 7, 1]) expect(read(bytes, size)).toEqual(expected);
});

const WARNING = Buffer.from([21, 3, 1, 0, 2, 1, 90]);

const PUBLIC = '93.184.216.34';
const names = { 'api.example.com': [PUBLIC], 'other.example.com': [PUBLIC] };

async function tunnelled(
  rules: object,
  first: Buffer,
): Promise<{ answer: Buffer; seen: Buffer[]; side: Awaited<ReturnType<typeof egressSide>> }> {
  const seen: Buffer[] = [];
  const port = await target(
    (socket) =>
      void socket.on('data', (data: Buffer) => seen.push(data)).once('data', () => socket.end('ok')),
  );
  const side = await egressSide({ rules, names, targets: { [`${PUBLIC}:443`]: port } });
  const socket = await side.program();
  socket.write('CONNECT api.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(await textUntil(socket, '\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  socket.write(first);
  return { answer: Buffer.from(await textUntilEnd(socket), 'latin1'), seen, side };
}

it.each([
  ['another name', clientHello({ names: ['other.example.com'] })],
  ['another name, a byte a record', clientHello({ names: ['other.example.com'], perRecord: 1 })],
  ['two names', clientHello({ names: ['api.example.com', 'other.example.com'] })],
  ['an address as its name', clientHello({ names: ['127.0.0.1'] })],
  ['17 KiB', clientHello({ names: ['api.example.com'], padding: 17_000 })],
  // Servers written in Go pass over warnings before a hello.
  ['a warning before it', Buffer.concat([WARNING, clientHello({ names: ['api.example.com'] })])],
  [
    'data before it',
    Buffer.concat([Buffer.from([23, 3, 3, 0, 0]), clientHello({ names: ['api.example.com'] })]),
  ],
  ['a record of another version before it', Buffer.from([21, 0, 9, 0, 2, 1, 90])],
])('answers a hello with %s by an alert, and passes nothing on', async (_, first) => {
  const { answer, seen, side } = await tunnelled({ allow: ['api.example.com'] }, first);
  expect(answer).toEqual(Buffer.from([21, 3, 3, 0, 2, 2, 49]));
  expect(seen).toEqual([]);
  expect(side.gate.log()).toMatchObject([{ decision: 'denied', reason: 'sni_mismatch', sent_bytes: 0 }]);
});

it.each([
  ['the name of the target', clientHello({ names: ['API.example.com'] }), { allow: ['api.example.com'] }],
  [
    'a name that is allowed by itself',
    clientHello({ names: ['other.example.com'] }),
    { allow: ['*.example.com'] },
  ],
  ['no name', clientHello({}), { allow: ['api.example.com'] }],
  ['bytes that are not TLS', Buffer.from('hello'), { allow: ['api.example.com'] }],
  [
    'bytes that begin like a record',
    Buffer.from([21, 1, 0, 0, 200, 0, 0, 0, 0]),
    { allow: ['api.example.com'] },
  ],
])('passes %s on unchanged', async (_, first, rules) => {
  const { answer, seen } = await tunnelled(rules, first);
  expect(String(answer)).toBe('ok');
  expect(Buffer.concat(seen)).toEqual(first);
});

it('cuts a connection when the policy no longer allows its server name', async () => {
  const port = await target((socket) => void socket.once('data', () => socket.write('ok')));
  const both = { allow: ['api.example.com', 'other.example.com'] };
  const side = await egressSide({ rules: both, names, targets: { [`${PUBLIC}:443`]: port } });
  const socket = await side.program();
  socket.write('CONNECT api.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n');
  await textUntil(socket, '\r\n\r\n');
  socket.write(clientHello({ names: ['other.example.com'] }));
  expect(await textUntil(socket, 'ok')).toBe('ok');
  side.gate.change(applied({ allow: ['api.example.com'] }));
  expect(await textUntilEnd(socket)).toBe('');
  expect(side.gate.log()).toMatchObject([{ reason: 'policy_changed' }]);
});

const ofOther = clientHello({ names: ['other.example.com'] });
const CHANGE = Buffer.from([20, 3, 3, 0, 1, 1]);
const EARLY = Buffer.concat([Buffer.from([23, 3, 3, 1, 0]), Buffer.alloc(256, 22)]);

it.each([
  ['at once', [ofOther]],
  ['after a change of the cipher', [CHANGE, ofOther]],
  ['after early data', [EARLY, EARLY, ofOther]],
  ['in records of one byte', [clientHello({ names: ['other.example.com'], perRecord: 1 })]],
  ['behind an empty record', [Buffer.from([22, 3, 3, 0, 0]), ofOther]],
])('answers a second hello with another name %s by an alert, however it arrives', async (_, parts) => {
  const after = Buffer.concat(parts);
  const first = clientHello({ names: ['api.example.com'] });
  for (const size of [after.length, 1]) {
    const { socket, seen } = await talking();
    socket.write(first);
    await textUntil(socket, 'got');
    for (let at = 0; at < after.length; at += size) socket.write(after.subarray(at, at + size));
    const answer = Buffer.from(await textUntilEnd(socket), 'latin1');
    expect(answer.subarray(-7)).toEqual(Buffer.from([21, 3, 3, 0, 2, 2, 49]));
    expect(Buffer.concat(seen).includes('other.example.com')).toBe(false);
  }
});

it.each([
  ['a second hello with the same name', [CHANGE, clientHello({ names: ['api.example.com'] }), EARLY]],
  ['the rest of a handshake of TLS 1.2', [Buffer.from([22, 3, 3, 0, 2, 16, 0]), CHANGE, ofOther]],
  ['data', [EARLY, EARLY]],
  ['an unfinished record', [Buffer.from([23, 3, 3])]],
])('passes %s on behind a hello', async (_, parts) => {
  const { socket, seen } = await talking();
  const all = Buffer.concat([clientHello({ names: ['api.example.com'] }), ...parts]);
  for (let at = 0; at < all.length; at += 100) socket.write(all.subarray(at, at + 100));
  socket.end();
  await textUntilEnd(socket);
  expect(Buffer.concat(seen)).toEqual(all);
});

/** A program in a tunnel to a target that says `got` to the first bytes, and ends with the program. */
async function talking(): Promise<{ socket: Socket; seen: Buffer[] }> {
  const seen: Buffer[] = [];
  const port = await target((socket) => {
    socket.on('data', (data: Buffer) => {
      if (seen.push(data) === 1) socket.write('got');
    });
    socket.once('end', () => socket.end());
  });
  const side = await egressSide({
    rules: { allow: ['api.example.com'] },
    names,
    targets: { [`${PUBLIC}:443`]: port },
  });
  const socket = await side.program();
  socket.write('CONNECT api.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(await textUntil(socket, '\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  return { socket, seen };
}
