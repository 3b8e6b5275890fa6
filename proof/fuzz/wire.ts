// HTTP over bare sockets: requests broken in their bytes, sent in pieces, several behind one another. Whatever comes, each
// answer is whole and ours, and the connection ends.
import { connect } from 'node:net';
import type { Outcome } from './campaign.ts';
import type { Chance } from './chance.ts';
import { ADMIN_KEY, fuzzedServer } from './fuzzed-server.ts';
import { anyText, damaged } from './hostile.ts';
import { badError } from './judge.ts';

/** From the last byte to the end of the connection: none of these requests waits for anything. */
const ENDS_MS = 20_000;

const HEAD = `Host: localhost\r\nX-API-Key: ${ADMIN_KEY}\r\n`;
const JSON_TYPE = 'Content-Type: application/json\r\n';
const CHUNKS = [
  '2\r\n{}\r\n0\r\n\r\n',
  '1;a=b\r\n{\r\n1\r\n}\r\n0\r\n\r\n',
  '2\r\n{}\r\n0\r\nX-T: y\r\n\r\n',
];
const ADMISSION = `POST /api/v1/sandboxes/admission HTTP/1.1\r\n${HEAD}${JSON_TYPE}`;
const REQUESTS: readonly ((chance: Chance) => string)[] = [
  () => `GET /api/v1/live HTTP/1.1\r\n${HEAD}\r\n`,
  () => `GET /api/v1/sandboxes?limit=2 HTTP/1.1\r\n${HEAD}\r\n`,
  () => `GET /api/v1/events?follow=false HTTP/1.1\r\n${HEAD}\r\n`,
  () => `GET http://localhost/api/v1/ready HTTP/1.1\r\n${HEAD}\r\n`,
  () => `HEAD /api/v1/health HTTP/1.0\r\n${HEAD}\r\n`,
  () => `DELETE /api/v1/sandboxes/sb-aaaaaaaaaaaa HTTP/1.1\r\n${HEAD}\r\n`,
  () => `${ADMISSION}Content-Length: 2\r\n\r\n{}`,
  () => `${ADMISSION}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`,
  (chance) => `${ADMISSION}Transfer-Encoding: chunked\r\n\r\n${chance.pick(CHUNKS)}`,
];
/** Put where a line may end. */
const LINES: readonly string[] = [
  'Content-Length: 0\r\n',
  'Content-Length: 5\r\n',
  'Content-Length: 2, 2\r\n',
  'Content-Length: 0x2\r\n',
  'Content-Length: 99999999999999999999\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: identity\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Transfer-Encoding : chunked\r\n',
  'Host: evil.example.com\r\n',
  'Connection: close\r\n',
  'Connection: Upgrade\r\nUpgrade: websocket\r\n',
  'Connection: keep-alive, X-API-Key\r\n',
  'Expect: 100-continue\r\n',
  'Range: bytes=0-,1-,2-\r\n',
  ' folded\r\n',
  ':\r\n',
  '\r\n',
  '\n',
  '\r',
  'X-Many: a\r\n'.repeat(2200),
  `X-Long: ${'b'.repeat(20_000)}\r\n`,
  '0\r\n\r\n',
  'ffffffffffffffff1\r\n',
];

export const wire = { width: 8, open: openWire };

async function openWire() {
  const fuzzed = await fuzzedServer();
  return {
    one: (chance: Chance): Promise<Outcome> => exchanged(fuzzed.port, bytesOf(chance), chance),
    verdict: () => fuzzed.verdict(),
    close: () => fuzzed.close(),
  };
}

function bytesOf(chance: Chance): Buffer {
  const requests = Array.from({ length: 1 + chance.below(3) }, () => chance.pick(REQUESTS)(chance));
  let bytes: Buffer = Buffer.from(requests.join(''), 'latin1');
  for (let times = chance.below(4); times > 0; times -= 1)
    bytes = chance.oneIn(3) ? damaged(chance, bytes) : withLine(chance, bytes.toString('latin1'), LINES);
  return bytes;
}

/** Puts one of `lines`, or any text, where a line may end. */
export function withLine(chance: Chance, text: string, lines: readonly string[]): Buffer {
  const ends = [...text.matchAll(/\r\n/g)].map(({ index }) => index + 2);
  const at = ends.length === 0 ? 0 : chance.pick(ends);
  const line = chance.oneIn(5) ? `X-Any: ${anyText(chance)}\r\n` : chance.pick(lines);
  return Buffer.from(text.slice(0, at) + line + text.slice(at), 'latin1');
}

/** Sends `bytes` in some pieces, closes its own half, and reads to the end. */
export function exchanged(port: number, bytes: Buffer, chance: Chance): Promise<Outcome> {
  const cut = chance.oneIn(2) ? bytes.length : chance.below(bytes.length + 1);
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const parts: Buffer[] = [];
    let timer: NodeJS.Timeout | undefined;
    const done = (ended: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      const text = Buffer.concat(parts).toString('latin1');
      const fault = ended ? badAnswers(text) : `no end, after ${JSON.stringify(text.slice(0, 300))}`;
      const told = JSON.stringify(bytes.toString('latin1').slice(0, 1500));
      resolve({ kind: kindOf(text), fault: fault && `${fault}\n  sent ${told}` });
    };
    socket.on('data', (part) => parts.push(part));
    socket.on('error', () => undefined);
    socket.on('end', () => done(true)).on('close', () => done(true));
    socket.write(bytes.subarray(0, cut));
    setImmediate(() => {
      socket.end(bytes.subarray(cut));
      timer = setTimeout(() => done(false), ENDS_MS);
    });
  });
}

const kindOf = (text: string) => /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 'nothing';

/** What is wrong with the answers in `text`. A last one may be cut: who has sent nonsense is not waited for. */
function badAnswers(text: string): string | undefined {
  if (text !== '' && !text.startsWith('HTTP/1.1 ')) return `no status line: ${text.slice(0, 200)}`;
  for (const answer of text.split(/(?=HTTP\/1\.1 \d{3} )/)) {
    const at = answer.indexOf('\r\n\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
    const body = answer.slice(at + 4);
    if (status < 400 || body === '') continue;
    const id = /^x-request-id: (.*)\r$/im.exec(answer)?.[1];
    const wrong = badError({ status, body: unchunked(body), headers: { 'x-request-id': id }, isCut: false });
    if (wrong) return wrong;
  }
  return undefined;
}

function unchunked(body: string): string {
  return Buffer.from(body, 'latin1')
    .toString('utf8')
    .replace(/^[0-9a-f]+\r\n/, '')
    .replace(/\r\n0\r\n\r\n$/, '');
}
