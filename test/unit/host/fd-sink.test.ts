// A full pipe does not hold up the event loop, and nothing is lost or reordered.
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { realClock } from '../../../src/host/clock.ts';
import { fdSink } from '../../../src/host/fd-sink.ts';

it.each([
  ['blocking', 0],
  ['non-blocking', constants.O_NONBLOCK],
])('passes all bytes through a slow %s pipe', async (_, flag) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-fifo-'));
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const reader = spawn('sh', ['-c', `exec 3<${fifo}; read go; sha256sum <&3`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const keeper = openSync(fifo, constants.O_RDWR);
  const descriptor = openSync(fifo, constants.O_WRONLY | flag);
  let done = false;
  const text = `${'0123456789'.repeat(100_000)}\n`;
  const writing = fdSink(
    descriptor,
    realClock(),
  )(text).then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toBe(false);
  reader.stdin.end('go\n');
  await writing;
  closeSync(descriptor);
  closeSync(keeper);
  let sum = '';
  for await (const chunk of reader.stdout) sum += chunk;
  expect(sum.slice(0, 64)).toBe(execFileSync('sha256sum', { input: text, encoding: 'utf8' }).slice(0, 64));
  rmSync(folder, { recursive: true });
});

it('rejects when the reader is closed', async () => {
  const descriptor = openSync('/dev/full', 'w');
  await expect(fdSink(descriptor, realClock())('x')).rejects.toThrow('ENOSPC');
  closeSync(descriptor);
});
