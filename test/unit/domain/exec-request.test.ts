// From exec requests to argv; the quoting is held against a real shell.
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { execArgv, execEnv, execTimeoutMs, quoteWord } from '../../../src/domain/exec-request.ts';

const hostileWord = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({
    unit: fc.constantFrom("'", '"', '\\', '$', '`', '\n', ' ', '!', '*', ';', '-', 'é', '😀'),
    maxLength: 12,
  }),
);

describe('execArgv', () => {
  it('shell: keeps the line unchanged', () =>
    expect(execArgv({ command: 'a | b' })).toEqual(['sh', '-c', 'a | b']));
  it('shell: appends quoted arguments', () =>
    expect(execArgv({ command: 'echo', args: ["it's", '$HOME'] })).toEqual([
      'sh',
      '-c',
      `echo 'it'\\''s' '$HOME'`,
    ]));
  it('argv: changes nothing', () =>
    expect(execArgv({ command: 'printf', mode: 'argv', args: ['%s', '$HOME'] })).toEqual([
      'printf',
      '%s',
      '$HOME',
    ]));
  it.each([{ command: ' \n' }, { command: 'a\0b' }, { command: 'a', args: ['\0'] }])(
    'refuses %j',
    (request) => expect(() => execArgv(request)).toThrow(expect.objectContaining({ code: 'bad_request' })),
  );

  it('a real shell reads every quoted word back unchanged', () => {
    const words = fc
      .sample(fc.array(hostileWord, { minLength: 200, maxLength: 200 }), { numRuns: 10, seed: 7 })
      .flat();
    const clean = words.filter((word) => !word.includes('\0') && !/\p{Cs}/u.test(word));
    const line = `printf '%s\\0' ${clean.map(quoteWord).join(' ')}`;
    expect(execFileSync('sh', ['-c', line]).toString().split('\0').slice(0, -1)).toEqual(clean);
  });
});

describe('execEnv', () => {
  it('the request wins', () => expect(execEnv({ A: '1', B: '2' }, { B: '3' })).toEqual({ A: '1', B: '3' }));
  it('refuses NUL', () =>
    expect(() => execEnv({}, { A: '\0' })).toThrow(expect.objectContaining({ code: 'bad_request' })));
});

describe('execTimeoutMs', () => {
  const limits = { defaultMs: 60_000, maxMs: 600_000 };
  it.each([
    [undefined, 60_000],
    ['0s', 600_000],
    ['1s', 1000],
    ['10m', 600_000],
    ['500ms', 500],
    ['1s500ms', 1500],
  ])('%j is %d ms', (text, ms) => expect(execTimeoutMs(text, limits)).toBe(ms));
  it('over the maximum is resource_limit', () =>
    expect(() => execTimeoutMs('601s', limits)).toThrow(
      expect.objectContaining({ code: 'resource_limit', status: 429, remedy: 'Use at most 10m.' }),
    ));
  it.each(['1.5s', '-1s', '500', ''])('refuses %j', (text) =>
    expect(() => execTimeoutMs(text, limits)).toThrow(expect.objectContaining({ code: 'bad_request' })),
  );
  it('is never unlimited', () => expect(execTimeoutMs('0s', { defaultMs: 0, maxMs: 0 })).toBeGreaterThan(0));
});
