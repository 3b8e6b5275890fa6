// Failures become one message and one exit code, in both forms.
import { Config, Flags } from '@oclif/core';
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { SvcCommand } from '../../../src/cli/svc-command.ts';
import { ERROR_TABLE, ServiceError } from '../../../src/domain/errors.ts';
import { packageRoot } from '../../../src/host/package-root.ts';
import { ERROR_CODES } from '../../../src/schema/error.ts';

let work: () => Promise<unknown> = async () => undefined;
class Probe extends SvcCommand {
  static override id = 'probe';
  static override flags = { n: Flags.integer() };
  async run() {
    await this.parse(Probe);
    return work();
  }
}

let config: Config;
const written = { out: '', err: '' };
const keep = (stream: 'out' | 'err') => (text: unknown) => {
  written[stream] += text;
  return true;
};
beforeAll(async () => {
  config = await Config.load(packageRoot());
});
beforeEach(() => {
  Object.assign(written, { out: '', err: '' });
  vi.spyOn(process.stdout, 'write').mockImplementation(keep('out'));
  vi.spyOn(process.stderr, 'write').mockImplementation(keep('err'));
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

async function runProbe(argv: string[], does: () => Promise<unknown>): Promise<number | string | undefined> {
  work = does;
  process.exitCode = undefined;
  const listeners = { out: process.stdout.listeners('error'), err: process.stderr.listeners('error') };
  await (new Probe(argv, config) as unknown as { _run(): Promise<unknown> })._run();
  for (const [stream, kept] of [
    [process.stdout, listeners.out],
    [process.stderr, listeners.err],
  ] as const) {
    for (const listener of stream.listeners('error'))
      if (!kept.includes(listener)) stream.off('error', listener as () => void);
  }
  const code = process.exitCode;
  process.exitCode = undefined;
  return code;
}

it.each(ERROR_CODES)('%s ends with its exit code', async (code) => {
  const failed = await runProbe([], async () => {
    throw new ServiceError(code, 'Said so.', {
      remedy: 'Do that.',
      details: { request_id: 'r-1', limit: 5 },
    });
  });
  expect(failed).toBe(ERROR_TABLE[code].exit);
  expect(written).toEqual({ out: '', err: 'Error: Said so.\n  limit: 5\nTry: Do that.\nRequest id: r-1\n' });
});

it('prints failures as JSON on standard output', async () => {
  const details = { request_id: 'r-1', problems: [{ message: 'one' }] };
  const code = await runProbe(['--json'], async () => {
    throw new ServiceError('not_found', 'Gone.', { details });
  });
  expect(code).toBe(4);
  expect(JSON.parse(written.out)).toEqual({
    error: {
      code: 'not_found',
      message: 'Gone.',
      request_id: 'r-1',
      details: { problems: [{ message: 'one' }] },
    },
  });
});

it('lists problems', async () => {
  await runProbe([], async () => {
    throw new ServiceError('bad_request', 'Two problems.', {
      details: { problems: [{ message: 'a\x1b' }, 'b'] },
    });
  });
  expect(written.err).toBe('Error: Two problems.\n  - a\\x1b\n  - b\n');
});

it('prints only the result with --json', async () => {
  expect(await runProbe(['--json'], async () => ({ a: [1] }))).toBeUndefined();
  expect(JSON.parse(written.out)).toEqual({ a: [1] });
});

it('ends with 2 on usage errors', async () => {
  expect(await runProbe(['--nope'], async () => ({}))).toBe(2);
  expect(written.err).toBe('Error: Nonexistent flag: --nope\nTry: See --help.\n');
  Object.assign(written, { err: '' });
  expect(await runProbe(['--n', 'x'], async () => ({}))).toBe(2);
  expect(written.err).toBe('Error: Parsing --n: Expected an integer but received: x\nTry: See --help.\n');
});

it('shows no secret of an unexpected error', async () => {
  const code = await runProbe([], async () => {
    throw new TypeError('broke at https://user:hunter22@host/ with token=abcdefgh12345');
  });
  expect(code).toBe(1);
  expect(written.err).toContain('Unexpected error');
  expect(written.err).not.toMatch(/hunter22|abcdefgh/);
});

it('replaces the remedy of a failure by its hint', async () => {
  const failure = new ServiceError('unauthorized', 'An API key is required.', {
    hint: 'api_key',
    remedy: 'Send a valid key in the header X-API-Key.',
    details: { request_id: 'r-1' },
  });
  const code = await runProbe([], async () => {
    throw failure;
  });
  expect(code).toBe(6);
  expect(written.err).toContain('SVC_API_KEY');
  expect(written.err).toContain('r-1');
  expect(written.err).not.toContain('header');
});
