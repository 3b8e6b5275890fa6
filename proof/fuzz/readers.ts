// Readers of events that ask for nonsense, read slowly, stop, or go: each gets well-formed events or one of our errors, and
// what they leave open is closed.
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { API_PREFIX } from '../../src/http/paths.ts';
import { api } from '../../test/support/servers/api.ts';
import { until } from '../../test/support/until.ts';
import type { Outcome } from './campaign.ts';
import type { Chance } from './chance.ts';
import { ADMIN_KEY, fuzzedServer } from './fuzzed-server.ts';
import { anyText } from './hostile.ts';
import { badError } from './judge.ts';

const READS_MS = 80;
const LINE = /^((id|event|data|retry): .*|:.*|)$/;
/** Keep-alive connections of the tidying client. */
const SPARE = 12;

export const readers = { width: 8, open: openReaders };

async function openReaders() {
  const fuzzed = await fuzzedServer();
  const client = api(fuzzed.server.url, { 'x-api-key': ADMIN_KEY });
  const open = () => readdirSync(`/proc/${fuzzed.server.child.pid}/fd`).length;
  for (let i = 0; i < 300; i += 1) await client.call('PUT', `/quotas/owner-${i}`, { max_sandboxes: i });
  const before = open();
  let cases = 0;
  return {
    one: async (chance: Chance): Promise<Outcome> => {
      if (++cases % 50 === 0)
        await client.call('PUT', `/sandboxes/${fuzzed.sandbox()}/files/f`, { content: 'x' });
      return reading(fuzzed.port, chance);
    },
    verdict: async () => {
      await until('the readers to disconnect', () => open() <= before + SPARE, 30_000);
      return fuzzed.verdict();
    },
    close: () => fuzzed.close(),
  };
}

function requestText(chance: Chance): string {
  const value = (known: readonly string[]) =>
    encodeURIComponent(Buffer.from(chance.oneIn(2) ? chance.pick(known) : anyText(chance)).toString('utf8'));
  const query = [
    `follow=${chance.pick(['true', 'true', 'false', 'maybe'])}`,
    chance.oneIn(3) ? `type=${value(['sandbox.created', 'file.written', 'sandbox.*', 'none'])}` : '',
    chance.oneIn(4) ? `since=${value(['1h', '2026-01-01T00:00:00Z', '0', '-1'])}` : '',
    chance.oneIn(4) ? `sandbox_id=${value(['sb-aaaaaaaaaaaa'])}` : '',
  ];
  const numbers = ['0', '1', '-1', '99999999999999999999', '1e3', '0x10', ' 7 ', '', '१', 'NaN', '3, 4'];
  const last = chance.oneIn(4)
    ? anyText(chance).replaceAll(/[\0\r\n]/g, ' ')
    : chance.pick([...numbers, String(chance.below(400))]);
  const id = chance.oneIn(4) ? '' : `Last-Event-ID: ${last}\r\n`;
  return `GET ${API_PREFIX}/events?${query.filter(Boolean).join('&')} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${ADMIN_KEY}\r\n${id}\r\n`;
}

function reading(port: number, chance: Chance): Promise<Outcome> {
  const asked = requestText(chance);
  const [stops, resets] = [chance.oneIn(3), chance.oneIn(3)];
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const parts: Buffer[] = [];
    socket.on('error', () => undefined);
    socket.once('data', async (first) => {
      parts.push(first);
      socket.on('data', (part) => parts.push(part));
      if (stops) socket.pause();
      await pause(chance.below(READS_MS));
      if (resets) socket.resetAndDestroy();
      else socket.destroy();
      const { kind, fault } = judged(Buffer.concat(parts).toString('utf8'));
      resolve({ kind, fault: fault && `${fault}\n  asked ${JSON.stringify(asked)}` });
    });
    socket.once('close', () => resolve({ kind: 'closed' }));
    socket.write(asked, 'utf8');
  });
}

function judged(text: string): Outcome {
  const kind = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 'nothing';
  const [head = '', ...rest] = text.split('\r\n\r\n');
  if (kind !== '200') {
    const id = /^x-request-id: (.*)$/im.exec(head)?.[1]?.trim();
    const [status, body] = [Number(kind), rest.join('\r\n\r\n')];
    return { kind, fault: badError({ status, body, headers: { 'x-request-id': id }, isCut: false }) };
  }
  // Chunk sizes stand on lines of their own; a last line may be cut.
  const lines = rest
    .join('\r\n\r\n')
    .replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, '')
    .replaceAll('\r\n', '')
    .split('\n')
    .slice(0, -1);
  const wrong = lines.find((line) => !LINE.test(line));
  return { kind, fault: wrong === undefined ? undefined : `no line of an event: ${wrong.slice(0, 200)}` };
}
