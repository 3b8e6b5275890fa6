// The WebSocket exec over bare sockets: right and wrong frames in any order. The answers are complete, unmasked frames
// with our messages in them, the connection ends, and so does the command.
import { connect, type Socket } from 'node:net';
import { ERROR_TABLE } from '../../src/domain/errors.ts';
import { API_PREFIX } from '../../src/http/paths.ts';
import { api } from '../../test/support/servers/api.ts';
import { until } from '../../test/support/until.ts';
import type { Outcome } from './campaign.ts';
import type { Chance } from './chance.ts';
import { ADMIN_KEY, type FuzzedServer, fuzzedServer } from './fuzzed-server.ts';
import { anyValue, damaged, mutated } from './hostile.ts';

/** The service waits 10 s for a first message. */
const ENDS_MS = 45_000;
const MAY_CLOSE = [1000, 1001, 1002, 1003, 1005, 1007, 1008, 1009, 1011];
const [TEXT, BINARY, CLOSE, PING] = [1, 2, 8, 9] as const;

export const frames = { width: 6, open: openFrames };

async function openFrames() {
  const fuzzed = await fuzzedServer();
  const client = api(fuzzed.server.url, { 'x-api-key': ADMIN_KEY });
  const running = async () => {
    const path = `/sandboxes/${fuzzed.sandbox()}/execs`;
    const { status, body } = await client.call<{ state: string }[]>('GET', path);
    // The agent still ends the commands of the last connections.
    if (status === ERROR_TABLE.resource_limit.status) return Number.POSITIVE_INFINITY;
    if (status !== 200) throw new Error(`the commands cannot be listed: ${JSON.stringify(body)}`);
    return body.filter(({ state }) => state === 'running').length;
  };
  return {
    one: (chance: Chance) => conversation(fuzzed, chance),
    verdict: async () => {
      await until('the commands to end', async () => (await running()) === 0);
      return fuzzed.verdict();
    },
    close: () => fuzzed.close(),
  };
}

function conversation(fuzzed: FuzzedServer, chance: Chance): Promise<Outcome> {
  const sent = Array.from({ length: 1 + chance.below(10) }, () => anyFrame(chance));
  if (!chance.oneIn(5)) sent.unshift(frame(chance, TEXT, JSON.stringify(startOf(chance))));
  let bytes: Buffer = Buffer.concat(sent);
  if (chance.oneIn(8)) bytes = damaged(chance, bytes);
  return new Promise((resolve) => {
    const socket = connect({ port: fuzzed.port, host: '127.0.0.1', allowHalfOpen: true });
    const parts: Buffer[] = [];
    const done = (ended: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      const { kind, fault } = ended ? judged(Buffer.concat(parts)) : { kind: 'open', fault: 'no end' };
      resolve({ kind, fault: fault && `${fault}\n  sent ${bytes.toString('hex').slice(0, 2000)}` });
    };
    const timer = setTimeout(() => done(false), ENDS_MS);
    socket.on('data', (part) => parts.push(part)).on('error', () => undefined);
    socket.on('end', () => done(true)).on('close', () => done(true));
    greet(socket, fuzzed.sandbox());
    socket.once('data', () => sendAll(socket, bytes, chance.oneIn(6)));
  });
}

function greet(socket: Socket, sandbox: string): void {
  const key = Buffer.alloc(16).toString('base64');
  socket.write(
    `GET ${API_PREFIX}/sandboxes/${sandbox}/exec/ws HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${ADMIN_KEY}\r\n` +
      `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  );
}

/** Then says goodbye in order, or goes away. */
function sendAll(socket: Socket, bytes: Buffer, isGone: boolean): void {
  socket.write(bytes);
  if (isGone) socket.resetAndDestroy();
  else socket.end(Buffer.from([0x80 | CLOSE, 0x82, 0, 0, 0, 0, 3, 0xe8]));
}

function startOf(chance: Chance): unknown {
  const command = chance.pick(['cat', 'true', 'echo hi', 'head -c 300000 /dev/zero', 'exit 7', 'sleep 600']);
  const start = {
    ...{ type: 'start', command, tty: chance.oneIn(4), binary: chance.oneIn(2), timeout: '5s' },
    ...(chance.oneIn(6) && { keep: true }),
  };
  const first = chance.oneIn(8) ? ATTACH : start;
  return chance.oneIn(6) ? mutated(chance, first) : first;
}

/** Follows a command that was kept; there is none of this id. */
const ATTACH = { type: 'attach', exec_id: 'ex-aaaaaaaaaaaa', cols: 80, rows: 24, binary: true };

function anyFrame(chance: Chance): Buffer {
  const messages: readonly unknown[] = [
    ATTACH,
    { type: 'stdin', data: 'x'.repeat(chance.below(3000)) },
    { type: 'stdin', data: '*', encoding: 'base64' },
    { type: 'stdin_close' },
    { type: 'resize', cols: chance.below(500), rows: chance.below(70_000) - 1 },
    { type: 'signal', signal: chance.pick(['TERM', 'INT', 'nope']) },
    anyValue(chance),
  ];
  const message = chance.oneIn(4) ? mutated(chance, chance.pick(messages)) : chance.pick(messages);
  const ways: readonly (() => Buffer)[] = [
    ...Array(20).fill(() => frame(chance, TEXT, JSON.stringify(message) ?? '')),
    () => frame(chance, BINARY, chance.bytes(chance.below(2000))),
    () => frame(chance, PING, chance.bytes(chance.below(200))),
    () => frame(chance, CLOSE, chance.bytes(chance.below(130))),
    () => frame(chance, chance.below(16), chance.bytes(chance.below(200))),
    () => frame(chance, TEXT, chance.bytes(20)),
    () => chance.bytes(chance.below(30)),
    // Of 2^62 bytes, it says.
    () => Buffer.from([0x82, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5]),
  ];
  return chance.pick(ways)();
}

/** RFC 6455 5.2, now and then without FIN, with a reserved bit or without the mask that clients must use. */
function frame(chance: Chance, opcode: number, payload: string | Buffer): Buffer {
  const data = Buffer.from(payload as string);
  const first = (chance.oneIn(25) ? 0 : 0x80) | (chance.oneIn(60) ? 0x40 : 0) | opcode;
  const isMasked = !chance.oneIn(60);
  const long = data.length > 125;
  const head = Buffer.alloc(long ? 4 : 2);
  head[0] = first;
  head[1] = (isMasked ? 0x80 : 0) | (long ? 126 : data.length);
  if (long) head.writeUInt16BE(data.length, 2);
  const mask = isMasked ? chance.bytes(4) : Buffer.alloc(0);
  const masked = isMasked ? data.map((byte, at) => byte ^ mask[at % 4]!) : data;
  return Buffer.concat([head, mask, masked]);
}

function judged(heard: Buffer): Outcome {
  const at = heard.indexOf('\r\n\r\n');
  if (!heard.toString('latin1', 0, 12).startsWith('HTTP/1.1 101'))
    return { kind: 'refused', fault: heard.length > 0 ? heard.toString('latin1', 0, 300) : undefined };
  let kind = 'cut';
  for (const { opcode, payload, fault } of framesIn(heard.subarray(at + 4))) {
    if (fault) return { kind, fault };
    if (opcode === CLOSE) kind = String(payload.length >= 2 ? payload.readUInt16BE() : 1005);
    const wrong = opcode === TEXT ? badMessage(payload.toString()) : undefined;
    if (wrong) return { kind, fault: wrong };
  }
  // The server returns a code of the client's own, which may be any from 3000.
  const isKnown = kind === 'cut' || MAY_CLOSE.includes(Number(kind)) || Number(kind) >= 3000;
  return { kind, fault: isKnown ? undefined : `closed with ${kind}` };
}

function* framesIn(bytes: Buffer): Generator<{ opcode: number; payload: Buffer; fault?: string }> {
  for (let at = 0; at + 2 <= bytes.length; ) {
    const [first, second] = [bytes[at]!, bytes[at + 1]!];
    const opcode = first & 15;
    const isRight = (first & 0xf0) === 0x80 && [TEXT, BINARY, CLOSE, PING, 10].includes(opcode);
    if (!isRight || second > 127) {
      yield { opcode, payload: Buffer.alloc(0), fault: `a wrong frame ${first} ${second} at ${at}` };
      return;
    }
    const size = second < 126 ? 2 : second === 126 ? 4 : 10;
    if (at + size > bytes.length) return;
    const length =
      second < 126
        ? second
        : second === 126
          ? bytes.readUInt16BE(at + 2)
          : Number(bytes.readBigUInt64BE(at + 2));
    if (at + size + length > bytes.length) return;
    yield { opcode, payload: bytes.subarray(at + size, at + size + length) };
    at += size + length;
  }
}

function badMessage(text: string): string | undefined {
  try {
    const { type, code } = JSON.parse(text) as { type?: unknown; code?: string };
    if (typeof type !== 'string') return `a message without a type: ${text.slice(0, 200)}`;
    if (type !== 'error') return undefined;
    return code !== undefined && code in ERROR_TABLE && code !== 'internal'
      ? undefined
      : `an error that is none of ours: ${text.slice(0, 300)}`;
  } catch {
    return `no JSON: ${text.slice(0, 200)}`;
  }
}
