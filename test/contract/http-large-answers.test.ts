// Answers that are large: written in pieces as they are taken, kept on the ledger only until then, and what a caller's own
// program wrote comes as it wrote it, also when its deadline ended it.
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ByteLedger } from '../../src/domain/byte-ledger.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { CappedOutput } from '../../src/domain/output.ts';
import { realClock } from '../../src/host/clock.ts';
import type { FileInfo } from '../../src/schema/file.ts';
import { startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;
const LOOKS_SECRET = 'password=hunter2 eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0 sk-live-0123456789abcdef\n';

let ledger: ByteLedger;
let http: TestHttp;
beforeEach(async () => {
  ledger = new ByteLedger(64 * MIB, realClock());
  http = await startHttp({ ledger });
});
afterEach(() => http.server.close(0));

const exec = (body: object) =>
  fetch(`${http.base}/sandboxes/sb-x/exec`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
const released = () => until('all is released', () => ledger.stats().held_bytes === 0);

/** As the control plane keeps it. */
function writes(text: string, times: number): void {
  http.control.exec.run = async (_id, { encoding = 'utf8', timeout }, _caller, _signal, hold) => {
    const stdout = new CappedOutput(10 * MIB, hold);
    const bytes = Buffer.from(text);
    for (let n = 0; n < times; n++) stdout.add(bytes);
    const outputs = { stdout: stdout.as(encoding), stderr: new CappedOutput(10, hold).as(encoding) };
    if (timeout)
      throw new ServiceError('timeout', 'The command did not end.', {
        details: { exec_id: 'ex-1', ...outputs },
      });
    const facts = { exec_id: 'ex-1', exit_code: 0, duration: '1ms', duration_ms: 1 };
    return { ...facts, ...outputs, stdout_truncated: stdout.truncated, stderr_truncated: false };
  };
}

it.each(['utf8', 'base64'])('an exec of 10 MiB of zero bytes in %s arrives complete', async (encoding) => {
  writes('\0'.repeat(MIB), 11);
  const answer = await exec({ command: 'x', encoding });
  const { stdout, stdout_truncated, stderr } = (await answer.json()) as Record<string, string>;
  const bytes = Buffer.from(stdout ?? '', encoding as BufferEncoding);
  expect([bytes.length, bytes.every((byte) => byte === 0), stdout_truncated, stderr]).toEqual([
    ...[10 * MIB, true, true, ''],
  ]);
  await released();
});

it.each([1, 100_000])('a 408 holds the unredacted output, %i times the line', async (times) => {
  writes(LOOKS_SECRET, times);
  const answer = await exec({ command: 'x', timeout: '1s' });
  expect(answer.status).toBe(408);
  const { code, details } = (await answer.json()) as { code: string; details: Record<string, string> };
  expect([code, details.exec_id, details.stderr]).toEqual(['timeout', 'ex-1', '']);
  expect(details.stdout === LOOKS_SECRET.repeat(times)).toBe(true);
  await released();
});

it('all other details of an error are redacted and bounded', async () => {
  http.control.exec.run = async () => {
    const details = { output: LOOKS_SECRET.repeat(10_000) };
    throw new ServiceError('bad_request', `It says ${LOOKS_SECRET.repeat(10_000)}`, { details });
  };
  const text = await (await exec({ command: 'x' })).text();
  expect(text.length).toBeLessThan(40_000);
  expect(text).not.toMatch(/hunter2|eyJzdWI|sk-live/);
});

it('lists of many entries arrive complete and release their bytes', async () => {
  const info = { name: '\u0001'.repeat(100), size: 1, mode: '644', is_dir: false, type: 'file' } as const;
  http.control.files.list = async (_id, _path, _depth, _caller, _signal, hold) => {
    hold.grow(20 * MIB);
    const file = (n: number) => ({ ...info, path: `/${n}`, mod_time: '2026-01-02T03:04:05Z', inner: 'no' });
    return Array.from({ length: 20_000 }, (_, n) => file(n)) as FileInfo[];
  };
  const files = (await (await fetch(`${http.base}/sandboxes/sb-x/files/list?path=/`)).json()) as unknown[];
  expect(files).toHaveLength(20_000);
  // What the schema lacks is left out.
  expect(files[19_999]).toEqual({ ...info, path: '/19999', mod_time: '2026-01-02T03:04:05Z' });
  const head = await fetch(`${http.base}/sandboxes/sb-x/files/list?path=/`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  await released();
});

it('an answer beyond the free memory may be retried, one beyond all memory may not', async () => {
  const others = ledger.open({ name: 'others', isOwner: false });
  others.grow(50 * MIB);
  http.control.files.glob = async (_id, pattern, _caller, _signal, hold) => {
    hold.grow(pattern === '/all' ? 65 * MIB : 20 * MIB);
    return [];
  };
  const glob = (pattern: string) => fetch(`${http.base}/sandboxes/sb-x/files/glob?pattern=${pattern}`);
  const refused = await glob('/x');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  expect((await glob('/all')).status).toBe(413);
  others.release();
  expect((await glob('/x')).status).toBe(200);
  await released();
});

it('an unread answer keeps its bytes until its client leaves', async () => {
  writes('x'.repeat(MIB), 10);
  const socket = connect(http.port, '127.0.0.1');
  socket.pause();
  const body = '{"command":"x"}';
  socket.write(
    `POST /api/v1/sandboxes/sb-x/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await until('it is held', () => ledger.stats().held_bytes >= 10 * MIB);
  socket.destroy();
  await released();
});
