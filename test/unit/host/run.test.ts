// Programs run to the end, within their deadline and bounds.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { realHost } from '../../../src/host/real-host.ts';

const host = realHost('/usr/bin:/bin');
const sh = (script: string, more: object = {}) =>
  host.run('/bin/sh', ['-c', script], { timeoutMs: 20_000, ...more });

it('returns the exit code and both outputs', async () => {
  expect(await sh('echo out; echo err >&2; exit 3')).toEqual({ code: 3, stdout: 'out\n', stderr: 'err\n' });
});

it('passes input and only the given environment', async () => {
  process.env.SVC_TEST_CANARY = 'secret';
  const result = await sh('cat; echo "[$ONE$SVC_TEST_CANARY]"', {
    input: 'in ',
    env: { ONE: '1', PATH: '/bin' },
  });
  delete process.env.SVC_TEST_CANARY;
  expect(result.stdout).toBe('in [1]\n');
});

it('drops output beyond the bound without stopping the program', async () => {
  const result = await sh('head -c 3000000 /dev/zero | tr "\\0" a; echo done >&2', {
    maxBytes: 1000,
    env: { PATH: '/usr/bin:/bin' },
  });
  expect(result).toEqual({ code: 0, stdout: 'a'.repeat(1000), stderr: 'done\n' });
});

it('code is null when killed', async () => {
  expect((await sh('kill -9 $$')).code).toBeNull();
});

it('ends at the deadline even when a grandchild ignores signals and holds the pipes', async () => {
  const started = performance.now();
  await expect(sh('trap "" TERM; sleep 30', { timeoutMs: 200, env: { PATH: '/bin' } })).rejects.toMatchObject(
    {
      code: 'timeout',
    },
  );
  expect(performance.now() - started).toBeLessThan(10_000);
});

it('leaves no grandchild behind on the deadline', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-run-'));
  const script = `sleep 30 & echo $! > ${folder}/pid; wait`;
  await expect(sh(script, { timeoutMs: 1000, env: { PATH: '/bin' } })).rejects.toMatchObject({
    code: 'timeout',
  });
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
  rmSync(folder, { recursive: true });
  await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 10_000 });
});

/** A killed child that nobody reaped is a zombie: it runs no more. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

it('ends with the reason of the signal', async () => {
  const stop = new AbortController();
  const running = sh('sleep 30', { signal: stop.signal, env: { PATH: '/bin' } });
  const reason = new Error('stop');
  stop.abort(reason);
  await expect(running).rejects.toBe(reason);
  await expect(sh('true', { signal: stop.signal })).rejects.toBe(reason);
});

it('reports a program that cannot start', async () => {
  const failure = host.run('/no/such/program', [], { timeoutMs: 1000 });
  await expect(failure).rejects.toMatchObject({ code: 'unavailable' });
  await expect(failure).rejects.not.toThrow('/no/such');
});
